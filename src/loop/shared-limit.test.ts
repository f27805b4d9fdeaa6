import { describe, expect, it } from 'vitest';
import {
  begun,
  ended,
  ending,
  exited,
  given,
  iteration,
  limit,
  output,
  plain,
  planned,
  tells,
  wanted,
  write,
} from '../../test/rig/given.ts';
import { admits } from './admit.ts';
import { decide } from './decide.ts';
import type { Happening } from './event.ts';
import type { LoopState } from './state.ts';

const hears = (resetsAt: number, jitter = 0): Happening => ({
  type: 'limit.shared',
  resetsAt,
  message: 'theirs',
  jitter,
});
const says = (state: LoopState, happening: Happening, at = state.now): boolean =>
  admits(state, { ...happening, at });
const timer = (key: string): Happening => ({ type: 'timer.fired', key });
const now = tells('now', { type: 'resume', now: true });

describe('a limit that another loop has met', () => {
  it('is heard where a run is wanted and none is open, and while it lasts', () => {
    const ready = given(plain, iteration(1));
    expect(says(ready, hears(1000))).toBe(true);
    expect(says(ready, hears(1000), 1000)).toBe(false);
    expect(says(given(plain), hears(1000))).toBe(false);
    expect(says(given(plain, ...begun), hears(1000))).toBe(false);
    const heard = given(plain, iteration(1), hears(1000));
    expect(says(heard, hears(2000))).toBe(false);
    // A person does not want to wait.
    expect(says(write(heard, { ...now, at: 0 }), hears(2000))).toBe(false);
  });

  it('is sat out before the run, a little longer at random, and not for more than a minute', () => {
    const until = (resetsAt: number, jitter: number): unknown =>
      wanted(given(plain, iteration(1), hears(resetsAt, jitter)));
    expect(until(100_000, 0)).toEqual({
      type: 'wait',
      key: 'wait:1.1:shared-limit',
      until: 100_000,
      why: 'usage-limit',
    });
    expect(until(100_000, 0.5)).toMatchObject({ until: 105_000 });
    expect(until(10_000_000, 1)).toMatchObject({ until: 10_060_000 });
    const later = given(plain, iteration(1), hears(100_000), [100, timer('wait:1.1:shared-limit')]);
    expect(wanted(later)).toMatchObject({ type: 'run', key: 'run:1.1', respectsSharedLimit: true });
  });

  it('is another one before the next run of the same iteration', () => {
    const own = [...begun, output('1.1', limit(50_000)), exited('1.1', 1)];
    const state = given(plain, ...own, [50, timer('wait:1.1')], hears(60_000));
    expect(wanted(state)).toMatchObject({ key: 'wait:1.2:shared-limit', until: 60_000 });
    expect(says(state, timer('wait:1.1:shared-limit'), 60_000)).toBe(false);
  });

  it('is not waited for longer than the loop may be at work', () => {
    const short = { ...plain, limits: { unchanged: null, timeMs: 30_000 } };
    const state = given(short, iteration(1), hears(100_000));
    expect(wanted(state)).toMatchObject({ until: 30_000 });
    expect(ending(write(state, { ...timer('wait:1.1:shared-limit'), at: 30_000 }))).toMatchObject({
      type: 'time-exhausted',
    });
    // Also when the limit comes later.
    const set = tells('s', { type: 'set', limits: { timeMs: 5000 } });
    expect(ending(given(plain, iteration(1), hears(100_000), [10, set]))).toMatchObject({
      type: 'time-exhausted',
    });
  });

  it('is left by a pause, and there again after it', () => {
    const paused = given(plain, iteration(1), hears(100_000), tells('p', { type: 'pause' }));
    expect(wanted(paused)).toMatchObject({ type: 'rest' });
    const resumed = write(paused, { ...tells('r', { type: 'resume', now: false }), at: 50_000 });
    expect(wanted(resumed)).toMatchObject({ key: 'wait:1.1:shared-limit', until: 100_000 });
    expect(wanted(write(paused, { ...now, at: 50_000 }))).toMatchObject({
      type: 'run',
      respectsSharedLimit: false,
    });
  });

  it('is ended by a person who says now, for one run', () => {
    const urged = given(plain, iteration(1), hears(100_000), now);
    expect(wanted(urged)).toMatchObject({ type: 'run', key: 'run:1.1', respectsSharedLimit: false });
    const again = [planned('1.1'), ended('1.1', { how: 'interrupted' }), timer('wait:1.1')];
    const next = again.reduce<LoopState>((state, told) => write(state, { ...told, at: 0 }), urged);
    expect(wanted(next)).toMatchObject({ type: 'run', key: 'run:1.2', respectsSharedLimit: true });
  });

  it('is asked for anew when the loop is opened again', () => {
    const stopped = given(
      plain,
      iteration(1),
      hears(100_000),
      tells('s', { type: 'stop', now: true, by: 'person' }),
    );
    const over = write(stopped, { type: 'loop.ended', outcome: { type: 'stopped', by: 'person' }, at: 0 });
    const open = write(over, { type: 'loop.reopened', policy: null, at: 1000 });
    expect(wanted(open)).toMatchObject({ type: 'run', key: 'run:1.1' });
  });
});

describe('a limit that was heard', () => {
  const heard = { type: 'limit.shared', resetsAt: 60_000, message: 'theirs', jitter: 0.5, at: 0 } as const;
  const waiting = (): LoopState => write(given(plain, iteration(1)), heard);

  it('is waited for before the run, a little longer than it lasts, and then the same run is wanted', () => {
    expect(decide(waiting())).toEqual([
      { type: 'wait', key: 'wait:1.1:shared-limit', until: 63_000, why: 'usage-limit' },
    ]);
    const over = write(waiting(), { type: 'timer.fired', key: 'wait:1.1:shared-limit', at: 63_000 });
    expect(wanted(over)).toMatchObject({ type: 'run', key: 'run:1.1', respectsSharedLimit: true });
    expect(over.iteration).toBe(1);
  });

  it('is not heeded once a person says resume --now, until the next limit', () => {
    const urged = write(waiting(), { ...now, at: 10 });
    expect(wanted(urged)).toMatchObject({ type: 'run', key: 'run:1.1', respectsSharedLimit: false });
    expect(admits(urged, { ...heard, at: 20 })).toBe(false);
  });

  it('is admitted only while a run is wanted that heeds it, and only if it is not over', () => {
    expect(admits(given(plain, iteration(1)), { ...heard, at: 60_000 })).toBe(false);
    expect(admits(given(plain, ...begun), heard)).toBe(false);
    expect(admits(waiting(), { ...heard, at: 10 })).toBe(false);
  });

  it('keeps nobody from asking for a commit message', () => {
    const commits = {
      ...plain,
      commit: { command: 'git', tasks: ['commit'], message: 'agent', timeoutMs: null },
    };
    const ended1 = given(commits, ...begun, ended('1.1', { how: 'exited', code: 0, error: null }));
    const found = { markers: [], problem: null, messages: [], fingerprint: 'f' };
    const probe = { type: 'probe.finished', key: 'probe:1.1:after', phase: 'after', ...found } as const;
    const probed = write(ended1, { ...probe, at: 2000 });
    const asking = write(probed, { type: 'changes.found', iteration: 1, any: true, error: null, at: 2000 });
    expect(wanted(asking)).toMatchObject({
      type: 'run',
      purpose: 'commit-message',
      respectsSharedLimit: false,
    });
    expect(admits(asking, { ...heard, at: 3000 })).toBe(false);
  });
});

describe('an outage', () => {
  const down = (run: string): ReturnType<typeof ended> =>
    ended(run, { how: 'exited', code: 1, error: { kind: 'transient', message: 'overloaded' } });
  /** After so many in a row. */
  const outages = (times: number): LoopState => {
    let state = given(plain, iteration(1));
    for (let run = 1; run <= times; run++) {
      state = write(state, { ...planned(`1.${run}`), at: state.now });
      state = write(state, { ...down(`1.${run}`), at: state.now });
      const wait = wanted(state);
      if (wait?.type !== 'wait' || run === times) continue;
      state = write(state, { ...timer(wait.key), at: wait.until });
    }
    return state;
  };
  const length = (state: LoopState): number => {
    const wait = wanted(state);
    if (wait?.type !== 'wait') throw new Error('no wait');
    return wait.until - state.now;
  };

  it('is tried again after 1, 2, 4 … 300 seconds, and charges nothing', () => {
    expect([1, 2, 3, 4].map((times) => length(outages(times)))).toEqual([1000, 2000, 4000, 8000]);
    expect(length(outages(12))).toBe(300_000);
    expect(outages(12)).toMatchObject({ iteration: 1, failures: { consecutive: 0, total: 0 } });
    expect(wanted(outages(1))).toMatchObject({ why: 'outage' });
  });

  it('is counted from the first one again after anything else, and when the loop is opened again', () => {
    const third = write(outages(2), { ...timer('wait:1.2'), at: outages(2).now + 2000 });
    const failed = [planned('1.3'), exited('1.3', 1)].reduce<LoopState>(
      (state, told) => write(state, { ...told, at: state.now }),
      third,
    );
    expect(failed).toMatchObject({ outages: 0, failures: { consecutive: 1 } });
    expect(length(failed)).toBe(1000);
    const stopping = write(outages(3), {
      ...tells('s', { type: 'stop', now: true, by: 'person' }),
      at: outages(3).now,
    });
    const over = write(stopping, {
      type: 'loop.ended',
      outcome: { type: 'stopped', by: 'person' },
      at: stopping.now,
    });
    expect(write(over, { type: 'loop.reopened', policy: null, at: over.now })).toMatchObject({ outages: 0 });
  });

  it('is not waited for when a person says now', () => {
    expect(wanted(write(outages(2), { ...now, at: outages(2).now }))).toMatchObject({ key: 'run:1.3' });
  });
});

describe('a conversation', () => {
  const used = (input: number, usd: number): object => ({
    tokens: { input, output: 1, cacheRead: 2, cacheWrite: 3 },
    cost: { usd, source: 'reported' },
  });
  const after = (...runs: readonly (readonly [session: string | undefined, input: number, usd: number])[]) =>
    runs.reduce<LoopState>((before, [session, input, usd], index) => {
      const n = index + 1;
      const named = session === undefined ? {} : { session };
      const told = [
        iteration(n),
        planned(`${n}.1`),
        output(`${n}.1`, { ...used(input, usd), ...named }),
        exited(`${n}.1`, 0),
        timer(`wait:${n}.1`),
      ];
      return told.reduce((state, one) => write(state, { ...one, at: state.now }), before);
    }, given(plain)).session;

  it('has cost what all of its runs have', () => {
    expect(after(['a', 10, 0.5], ['a', 5, 0.25])).toEqual({
      id: 'a',
      tokens: { input: 15, output: 2, cacheRead: 4, cacheWrite: 6 },
      usd: 0.75,
    });
  });

  it('is another one by its name, and stays known over a run that names none', () => {
    expect(after(['a', 10, 0.5], ['b', 5, 0.25])).toMatchObject({ id: 'b', tokens: { input: 5 }, usd: 0.25 });
    expect(after(['a', 10, 0.5], [undefined, 5, 0.25])).toMatchObject({ id: 'a', tokens: { input: 10 } });
    expect(after([undefined, 5, 0.25])).toBeNull();
  });
});
