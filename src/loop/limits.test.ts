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
  started,
  wanted,
  write,
  type Entry,
} from '../../test/rig/given.ts';
import type { Happening } from './event.ts';
import type { LoopState } from './state.ts';

describe('a usage limit', () => {
  it('waits until the stated reset and runs the same iteration again, free of charge', () => {
    const state = given(plain, ...begun, output('1.1', limit(5_000_000)), [10, exited('1.1', 1)]);
    expect(wanted(state)).toEqual({ type: 'wait', key: 'wait:1.1', until: 5_000_000, why: 'usage-limit' });
    expect(state).toMatchObject({ iteration: 1, failures: { consecutive: 0, total: 0 } });
    const later = write(state, { type: 'timer.fired', key: 'wait:1.1', at: 5_000_000 });
    expect(wanted(later)).toMatchObject({ type: 'run', key: 'run:1.2' });
    expect(later.iteration).toBe(1);
  });

  it('spreads the waits by the jitter of the event', () => {
    const state = given(plain, ...begun, output('1.1', limit(100_000)), {
      type: 'run.ended',
      run: '1.1',
      ending: { how: 'exited', code: 1, error: null },
      jitter: 0.5,
    });
    expect(wanted(state)).toMatchObject({ until: 105_000 });
  });

  /** The waits after consecutive limits, in seconds; `resetsAt` is what the provider states each time. */
  const waitsInARow = (
    runs: number,
    resetsAt: (run: number, now: number) => number | null,
  ): readonly number[] => {
    let state = given(plain, ...begun);
    const waits: number[] = [];
    for (let run = 1; run <= runs; run++) {
      const id = `1.${run}`;
      const { now } = state;
      const happenings = [
        ...(run === 1 ? [] : [planned(id)]),
        output(id, limit(resetsAt(run, now))),
        exited(id, 1),
      ];
      for (const happening of happenings) state = write(state, { ...happening, at: now });
      const wait = wanted(state);
      if (wait?.type !== 'wait' || wait.until === null) throw new Error('no wait');
      waits.push((wait.until - now) / 1000);
      state = write(state, { type: 'timer.fired', key: wait.key, at: wait.until });
    }
    return waits;
  };

  it('waits longer each time if no reset is stated or the stated one has passed', () => {
    const waits = waitsInARow(7, (run, now) => (run % 2 === 0 ? now - 1 : null));
    expect(waits).toEqual([60, 300, 900, 1800, 3600, 3600, 3600]);
  });

  it('waits longer each time if the provider keeps stating a reset in the near future', () => {
    expect(waitsInARow(4, (_, now) => now + 1)).toEqual([0.001, 60, 300, 900]);
  });

  it('does not end by an early or unrelated timer', () => {
    const state = given(plain, ...begun, output('1.1', limit(5_000_000)), exited('1.1', 1));
    expect(wanted(write(state, { type: 'timer.fired', key: 'wait:1.1', at: 4_999_999 }))).toMatchObject({
      type: 'wait',
    });
    expect(wanted(write(state, { type: 'timer.fired', key: 'wait:1.0', at: 5_000_000 }))).toMatchObject({
      type: 'wait',
    });
  });

  it('is still waited for after a pause, unless the loop is resumed with now', () => {
    const limited = [
      ...begun,
      output('1.1', limit(5_000_000)),
      exited('1.1', 1),
      received('a', { type: 'pause' }),
    ] as const;
    expect(wanted(given(plain, ...limited))).toEqual({ type: 'rest', key: 'rest' });
    const resume = (now: boolean) => wanted(given(plain, ...limited, received('b', { type: 'resume', now })));
    expect(resume(false)).toMatchObject({ type: 'wait', until: 5_000_000 });
    expect(resume(true)).toMatchObject({ type: 'run', key: 'run:1.2' });
  });

  it('ends the loop at once if it resets only after the time limit of the loop, unless the loop is paused', () => {
    const hit = [...begun, output('1.1', limit(5_000_000)), exited('1.1', 1)] as const;
    const within = (timeMs: number) => ({ ...plain, limits: { timeMs, unchanged: null } });
    expect(ending(given(within(60_000), ...hit))).toEqual({
      type: 'time-exhausted',
      limitMs: 60_000,
      resetsAt: 5_000_000,
    });
    expect(wanted(given(within(5_000_000), ...hit))).toMatchObject({ type: 'wait', until: 5_000_000 });
    const paused = given(within(60_000), ...begun, received('p', { type: 'pause' }), ...hit.slice(3));
    expect(wanted(paused)).toEqual({ type: 'rest', key: 'rest' });
  });

  it('ends the loop after as many waits as it may make, and a person who resumes it allows that many again', () => {
    const patient = (limitWaits: number) => ({ ...plain, limits: { limitWaits, unchanged: null } });
    const hit = (run: string) => [output(run, limit(null)), exited(run, 1)] as const;
    const first = [...begun, ...hit('1.1')] as const;
    expect(ending(given(patient(0), ...first))).toEqual({
      type: 'limit-waits-exhausted',
      waits: 0,
      resetsAt: null,
    });
    const waited = [...first, [60, { type: 'timer.fired', key: 'wait:1.1' }]] as const;
    const again = [...waited, planned('1.2'), started('1.2'), ...hit('1.2')] as const;
    expect(wanted(given(patient(1), ...first))).toMatchObject({ type: 'wait', why: 'usage-limit' });
    const outcome = { type: 'limit-waits-exhausted', waits: 1, resetsAt: null } as const;
    expect(ending(given(patient(1), ...again))).toEqual(outcome);
    expect(wanted(given(patient(2), ...again))).toMatchObject({ type: 'wait', why: 'usage-limit' });
    const resumed = [
      ...again,
      { type: 'loop.ended', outcome },
      { type: 'loop.reopened', policy: null },
      planned('1.3'),
      started('1.3'),
      ...hit('1.3'),
    ] as const;
    expect(wanted(given(patient(1), ...resumed))).toMatchObject({ type: 'wait', why: 'usage-limit' });
    // Also during the wait.
    const set = received('s', { type: 'set', limits: { limitWaits: 0 } });
    expect(ending(given(patient(1), ...first, set))).toMatchObject({ waits: 0 });
  });

  it('ends the loop at once if the next retry is only after its time limit', () => {
    const policy = { ...plain, limits: { timeMs: 59_999, unchanged: null } };
    const state = given(policy, ...begun, output('1.1', limit(null)), exited('1.1', 1));
    expect(ending(state)).toEqual({ type: 'time-exhausted', limitMs: 59_999, resetsAt: null });
  });

  it('is waited for up to the time limit if only the random part of the wait exceeds that', () => {
    const policy = { ...plain, limits: { timeMs: 102_000, unchanged: null } };
    const state = given(policy, ...begun, output('1.1', limit(100_000)), {
      type: 'run.ended',
      run: '1.1',
      ending: { how: 'exited', code: 1, error: null },
      jitter: 0.5,
    });
    expect(wanted(state)).toMatchObject({ type: 'wait', until: 102_000 });
  });

  it('is ignored if the agent reports success in the end', () => {
    const through = ended('1.1', { how: 'exited', code: 0, error: null });
    expect(
      given(plain, ...begun, output('1.1', { ...limit(9), said: 'success' }), through).turn.run?.ended?.as,
    ).toBe('ok');
  });
});

describe('stuck detection', () => {
  const stuck = { completion: { detectors: [] }, checkpoint: false };
  const probe = (run: number, phase: 'before' | 'after', fingerprint: string | null): Happening => ({
    type: 'probe.finished',
    key: `probe:${run}.1:${phase}`,
    phase,
    markers: [],
    problem: null,
    messages: [],
    fingerprint,
  });
  const turn = (n: number, fingerprint: string): Entry[] => [
    iteration(n),
    planned(`${n}.1`),
    exited(`${n}.1`, 0),
    probe(n, 'after', fingerprint),
    { type: 'timer.fired', key: `wait:${n}.1` },
  ];
  const after = (...fingerprints: string[]) =>
    given(stuck, probe(1, 'before', 'a'), ...fingerprints.flatMap((print, index) => turn(index + 1, print)));
  const nudges = (state: LoopState) => {
    const effect = wanted(write(state, { ...iteration(state.iteration + 1), at: state.now }));
    return effect?.type === 'run' && effect.plan.sections.some(({ kind }) => kind === 'nudge');
  };

  it('nudges after three unchanged iterations, not after two', () => {
    expect(nudges(after('a', 'a'))).toBe(false);
    expect(nudges(after('a', 'a', 'a'))).toBe(true);
    expect(nudges(after('a', 'a', 'b'))).toBe(false);
  });

  it('counts an iteration that goes back to an earlier tree as one without progress', () => {
    expect(ending(after('b', 'a', 'b', 'a', 'b'))).toBeNull();
    expect(ending(after('b', 'a', 'b', 'a', 'b', 'a'))).toEqual({ type: 'stuck', unchanged: 5 });
    expect(ending(after('b', 'a', 'b', 'a', 'b', 'c', 'a', 'b', 'a'))).toBeNull();
  });

  it('is made by new check results on the tree that the loop found', () => {
    const checks = (n: number, passed: number): Entry[] => [
      { type: 'checks.started', iteration: n, run: `${n}.1` } as const,
      ...[0, 1, 2].map((index) => ({
        type: 'check.finished' as const,
        iteration: n,
        run: `${n}.1`,
        index,
        command: `check ${index}`,
        result: { code: index < passed ? 0 : 1, timedOut: false, durationMs: 1, log: 'l' },
      })),
    ];
    const turnWith = (n: number, passed: number): Entry[] => {
      const [begin, plan, exit, look, wait] = turn(n, 'a');
      const first = probe(n, 'before', 'a');
      return [first, begin, plan, exit, look, ...checks(n, passed), wait].filter(
        (entry) => entry !== undefined,
      );
    };
    const commands = [0, 1, 2].map((index) => ({ command: `check ${index}`, action: 'APPEND', hint: null }));
    const policy = { ...stuck, checks: { commands } };
    const unchanged = (...passed: number[]): number =>
      given(policy, ...passed.flatMap((count, index) => turnWith(index + 1, count))).progress.unchanged;
    expect(unchanged(0)).toBe(1);
    expect(unchanged(0, 1)).toBe(0);
    expect(unchanged(0, 1, 2)).toBe(0);
    expect(unchanged(0, 1, 0, 1)).toBe(2);
  });

  it('ends the loop after five', () => {
    expect(ending(after('a', 'a', 'a', 'a'))).toBeNull();
    expect(ending(after('a', 'a', 'a', 'a', 'a'))).toEqual({ type: 'stuck', unchanged: 5 });
    expect(ending(after('a', 'a', 'b', 'b', 'b', 'b', 'b'))).toBeNull();
  });
});

describe('working time', () => {
  it('excludes time without an owner, at rest and after the end', () => {
    const policy = { ...plain, limits: { timeMs: 100_000, unchanged: null } };
    const state = given(
      policy,
      [10, received('a', { type: 'pause' })],
      [500, received('b', { type: 'tell', text: 'hello' })],
      [1000, received('c', { type: 'resume', now: false })],
      [1010, iteration(1)],
      [5000, { type: 'owner.changed', owner: 'next morning' }],
      [5010, planned('1.1')],
    );
    expect(state.activeMs).toBe(30_000);
    expect(wanted(state)).toMatchObject({ notAfter: 5_010_000 + 70_000 });
  });

  it('includes the turns of a session, which have no owner, and not the time between them', () => {
    const policy = { ...plain, host: 'session' as const };
    const next = { type: 'owner.changed', owner: 'next step' } as const;
    expect(given(policy, ...begun, [100, { type: 'owner.left' }], [500, next]).activeMs).toBe(500_000);
    expect(given(policy, ...begun, [100, exited('1.1', 1)], [500, next]).activeMs).toBe(100_000);
  });

  it('never runs backwards', () => {
    const state = given(plain, [10, iteration(1)], [5, planned('1.1')]);
    expect(state.now).toBe(10_000);
    expect(state.activeMs).toBe(10_000);
  });
});
