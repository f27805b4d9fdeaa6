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
  received,
  wanted,
  write,
} from '../../test/rig/given.ts';
import { admits } from './admit.ts';
import { decide } from './decide.ts';
import type { Happening } from './event.ts';
import type { LoopState } from './state.ts';

const sharedLimit = (resetsAt: number, jitter = 0): Happening => ({
  type: 'limit.shared',
  resetsAt,
  message: 'theirs',
  jitter,
});
const isAdmitted = (state: LoopState, happening: Happening, at = state.now): boolean =>
  admits(state, { ...happening, at });
const timer = (key: string): Happening => ({ type: 'timer.fired', key });
const now = received('now', { type: 'resume', now: true });

describe('a usage limit that another loop hit', () => {
  it('is admitted while it lasts, if a run is wanted and none is open', () => {
    const ready = given(plain, iteration(1));
    expect(isAdmitted(ready, sharedLimit(1000))).toBe(true);
    expect(isAdmitted(ready, sharedLimit(1000), 1000)).toBe(false);
    expect(isAdmitted(given(plain), sharedLimit(1000))).toBe(false);
    expect(isAdmitted(given(plain, ...begun), sharedLimit(1000))).toBe(false);
    const limited = given(plain, iteration(1), sharedLimit(1000));
    expect(isAdmitted(limited, sharedLimit(2000))).toBe(false);
    // After `resume --now`.
    expect(isAdmitted(write(limited, { ...now, at: 0 }), sharedLimit(2000))).toBe(false);
  });

  it('is waited for before the run, with a jitter of at most a minute', () => {
    const until = (resetsAt: number, jitter: number): unknown =>
      wanted(given(plain, iteration(1), sharedLimit(resetsAt, jitter)));
    expect(until(100_000, 0)).toEqual({
      type: 'wait',
      key: 'wait:1.1:shared-limit',
      until: 100_000,
      why: 'usage-limit',
    });
    expect(until(100_000, 0.5)).toMatchObject({ until: 105_000 });
    expect(until(10_000_000, 1)).toMatchObject({ until: 10_060_000 });
    const later = given(plain, iteration(1), sharedLimit(100_000), [100, timer('wait:1.1:shared-limit')]);
    expect(wanted(later)).toMatchObject({ type: 'run', key: 'run:1.1', respectsSharedLimit: true });
  });

  it('is asked for again before the next run of the same iteration', () => {
    const own = [...begun, output('1.1', limit(50_000)), exited('1.1', 1)];
    const state = given(plain, ...own, [50, timer('wait:1.1')], sharedLimit(60_000));
    expect(wanted(state)).toMatchObject({ key: 'wait:1.2:shared-limit', until: 60_000 });
    expect(isAdmitted(state, timer('wait:1.1:shared-limit'), 60_000)).toBe(false);
  });

  it('counts like a limit of its own towards the waits that the loop may make', () => {
    const impatient = { ...plain, limits: { limitWaits: 0, unchanged: null } };
    expect(ending(given(impatient, iteration(1), sharedLimit(100_000)))).toEqual({
      type: 'limit-waits-exhausted',
      waits: 0,
      resetsAt: 100_000,
    });
  });

  it('is not waited for beyond the loop’s own time limit', () => {
    const short = { ...plain, limits: { unchanged: null, timeMs: 30_000 } };
    const state = given(short, iteration(1), sharedLimit(100_000));
    expect(ending(state)).toEqual({ type: 'time-exhausted', limitMs: 30_000, resetsAt: 100_000 });
    // Also if that limit is set during the wait.
    const set = received('s', { type: 'set', limits: { timeMs: 5000 } });
    expect(ending(given(plain, iteration(1), sharedLimit(100_000), [10, set]))).toMatchObject({
      type: 'time-exhausted',
    });
  });

  it('stops being waited for during a pause, and is waited for again after it', () => {
    const paused = given(plain, iteration(1), sharedLimit(100_000), received('p', { type: 'pause' }));
    expect(wanted(paused)).toMatchObject({ type: 'rest' });
    const resumed = write(paused, { ...received('r', { type: 'resume', now: false }), at: 50_000 });
    expect(wanted(resumed)).toMatchObject({ key: 'wait:1.1:shared-limit', until: 100_000 });
    expect(wanted(write(paused, { ...now, at: 50_000 }))).toMatchObject({
      type: 'run',
      respectsSharedLimit: false,
    });
  });

  it('is skipped for one run by `resume --now`', () => {
    const resumedNow = given(plain, iteration(1), sharedLimit(100_000), now);
    expect(wanted(resumedNow)).toMatchObject({ type: 'run', key: 'run:1.1', respectsSharedLimit: false });
    const again = [planned('1.1'), ended('1.1', { how: 'interrupted' }), timer('wait:1.1')];
    const next = again.reduce<LoopState>((state, told) => write(state, { ...told, at: 0 }), resumedNow);
    expect(wanted(next)).toMatchObject({ type: 'run', key: 'run:1.2', respectsSharedLimit: true });
  });

  it('is asked for again when the loop is reopened', () => {
    const stopped = given(
      plain,
      iteration(1),
      sharedLimit(100_000),
      received('s', { type: 'stop', now: true, by: 'person' }),
    );
    const over = write(stopped, { type: 'loop.ended', outcome: { type: 'stopped', by: 'person' }, at: 0 });
    const open = write(over, { type: 'loop.reopened', policy: null, at: 1000 });
    expect(wanted(open)).toMatchObject({ type: 'run', key: 'run:1.1' });
  });
});

describe('a shared limit in the journal', () => {
  const limited = { type: 'limit.shared', resetsAt: 60_000, message: 'theirs', jitter: 0.5, at: 0 } as const;
  const waiting = (): LoopState => write(given(plain, iteration(1)), limited);

  it('delays the run until after its reset, and then the same run is wanted', () => {
    expect(decide(waiting())).toEqual([
      { type: 'wait', key: 'wait:1.1:shared-limit', until: 63_000, why: 'usage-limit' },
    ]);
    const over = write(waiting(), { type: 'timer.fired', key: 'wait:1.1:shared-limit', at: 63_000 });
    expect(wanted(over)).toMatchObject({ type: 'run', key: 'run:1.1', respectsSharedLimit: true });
    expect(over.iteration).toBe(1);
  });

  it('is ignored after `resume --now`, until the next limit', () => {
    const resumedNow = write(waiting(), { ...now, at: 10 });
    expect(wanted(resumedNow)).toMatchObject({ type: 'run', key: 'run:1.1', respectsSharedLimit: false });
    expect(admits(resumedNow, { ...limited, at: 20 })).toBe(false);
  });

  it('is admitted only before its reset and while a run is wanted that waits for it', () => {
    expect(admits(given(plain, iteration(1)), { ...limited, at: 60_000 })).toBe(false);
    expect(admits(given(plain, ...begun), limited)).toBe(false);
    expect(admits(waiting(), { ...limited, at: 10 })).toBe(false);
  });

  it('does not delay a run that writes a commit message', () => {
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
    expect(admits(asking, { ...limited, at: 3000 })).toBe(false);
  });
});

describe('an outage', () => {
  const down = (run: string): ReturnType<typeof ended> =>
    ended(run, { how: 'exited', code: 1, error: { kind: 'transient', message: 'overloaded' } });
  /** The state after consecutive outages. */
  const outages = (times: number): LoopState => {
    let state = given(plain, iteration(1));
    for (let run = 1; run <= times; run++) {
      state = write(state, { ...planned(`1.${run}`), at: state.now });
      state = write(state, { ...down(`1.${run}`), at: state.now });
      const wait = wanted(state);
      if (wait?.type !== 'wait' || wait.until === null || run === times) continue;
      state = write(state, { ...timer(wait.key), at: wait.until });
    }
    return state;
  };
  const length = (state: LoopState): number => {
    const wait = wanted(state);
    if (wait?.type !== 'wait' || wait.until === null) throw new Error('no wait');
    return wait.until - state.now;
  };

  it('is retried after 1, 2, 4 … 300 seconds, free of charge', () => {
    expect([1, 2, 3, 4].map((times) => length(outages(times)))).toEqual([1000, 2000, 4000, 8000]);
    expect(length(outages(12))).toBe(300_000);
    expect(outages(12)).toMatchObject({ iteration: 1, failures: { consecutive: 0, total: 0 } });
    expect(wanted(outages(1))).toMatchObject({ why: 'outage' });
  });

  it('ends the loop after five runs in a row that the provider never answered', () => {
    const silence = { how: 'timed-out', which: 'inactivity', unanswered: true } as const;
    const silent = (times: number, before: LoopState = given(plain, iteration(1)), from = 1): LoopState => {
      let state = before;
      for (let run = from; run < from + times; run++) {
        state = write(state, { ...planned(`1.${run}`), at: state.now });
        state = write(state, { ...ended(`1.${run}`, silence), at: state.now });
        const wait = wanted(state);
        if (wait?.type === 'wait') state = write(state, { ...timer(wait.key), at: wait.until ?? state.now });
      }
      return state;
    };
    expect(silent(4)).toMatchObject({ unanswered: 4, iteration: 1, failures: { total: 0 } });
    expect(wanted(silent(4))).toMatchObject({ type: 'run' });
    expect(wanted(silent(5))).toMatchObject({
      event: {
        type: 'loop.ended',
        outcome: { type: 'failures-exhausted', failures: 5, outages: true, unanswered: true },
      },
    });
    // An outage of another kind is an answer.
    let state = silent(4);
    state = write(state, { ...planned('1.5'), at: state.now });
    state = write(state, { ...down('1.5'), at: state.now });
    expect(state).toMatchObject({ outages: 5, unanswered: 0 });
    const wait = wanted(state);
    if (wait?.type !== 'wait') throw new Error('no wait');
    expect(
      wanted(silent(4, write(state, { ...timer(wait.key), at: wait.until ?? state.now }), 6)),
    ).toMatchObject({ type: 'run' });
  });

  it('starts counting again after any other result and when the loop is reopened', () => {
    const third = write(outages(2), { ...timer('wait:1.2'), at: outages(2).now + 2000 });
    const failed = [planned('1.3'), exited('1.3', 1)].reduce<LoopState>(
      (state, told) => write(state, { ...told, at: state.now }),
      third,
    );
    expect(failed).toMatchObject({ outages: 0, failures: { consecutive: 1 } });
    expect(length(failed)).toBe(1000);
    const stopping = write(outages(3), {
      ...received('s', { type: 'stop', now: true, by: 'person' }),
      at: outages(3).now,
    });
    const over = write(stopping, {
      type: 'loop.ended',
      outcome: { type: 'stopped', by: 'person' },
      at: stopping.now,
    });
    expect(write(over, { type: 'loop.reopened', policy: null, at: over.now })).toMatchObject({ outages: 0 });
  });

  it('is not waited for after `resume --now`', () => {
    expect(wanted(write(outages(2), { ...now, at: outages(2).now }))).toMatchObject({ key: 'run:1.3' });
  });
});

describe('an agent session', () => {
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

  it('costs the sum of its runs', () => {
    expect(after(['a', 10, 0.5], ['a', 5, 0.25])).toEqual({
      id: 'a',
      tokens: { input: 15, output: 2, cacheRead: 4, cacheWrite: 6 },
      usd: 0.75,
    });
  });

  it('is identified by its id and stays known after a run without one', () => {
    expect(after(['a', 10, 0.5], ['b', 5, 0.25])).toMatchObject({ id: 'b', tokens: { input: 5 }, usd: 0.25 });
    expect(after(['a', 10, 0.5], [undefined, 5, 0.25])).toMatchObject({ id: 'a', tokens: { input: 10 } });
    expect(after([undefined, 5, 0.25])).toBeNull();
  });
});
