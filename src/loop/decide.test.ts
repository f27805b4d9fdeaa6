import { describe, expect, it } from 'vitest';
import {
  begun,
  checked,
  ended,
  ending,
  exited,
  given,
  iteration,
  limit,
  output,
  plain,
  started,
  received,
  wanted,
  write,
} from '../../test/rig/given.ts';
import { decide } from './decide.ts';
import type { Happening } from './event.ts';
import { evolve } from './evolve.ts';
import { INITIAL } from './initial.ts';
import type { LoopState } from './state.ts';

const claim = { claim: { by: 'promise-tag', text: '<promise>DONE</promise>' } } as const;

describe('the run', () => {
  it('has the same key before and after it is planned, so that a new owner finds it after a crash', () => {
    const before = wanted(given(plain, iteration(1)));
    const after = wanted(given(plain, ...begun));
    expect(before).toMatchObject({
      type: 'run',
      key: 'run:1.1',
      timeoutMs: 7_200_000,
      inactivityMs: 1_200_000,
      outputBytes: 2 ** 30,
    });
    expect(after).toEqual({ ...before, plannedAt: 0 });
  });

  it('is no longer wanted once its spending exceeds the limit, and the loop ends without checks', () => {
    const spending = output('1.1', { cost: { usd: 2, source: 'reported' } });
    const running = given({ ...checked, limits: { costUsd: 2, unchanged: null } }, ...begun, spending);
    expect(decide(running)).toEqual([]);
    const stopped = write(running, { ...ended('1.1', { how: 'interrupted' }), at: 1000 });
    expect(ending(stopped)).toEqual({ type: 'cost-exhausted', limitUsd: 2, spentUsd: 2 });
  });

  it('counts input, output, cache read and cache write tokens', () => {
    const tokens = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 };
    const spent = given(
      { ...plain, limits: { tokens: 10, unchanged: null } },
      ...begun,
      output('1.1', { tokens }),
      exited('1.1', 0),
    );
    expect(ending(spent)).toEqual({ type: 'tokens-exhausted', limit: 10, spent: 10 });
  });

  it('may last until the loop’s own time limit', () => {
    const state = given({ ...plain, limits: { timeMs: 60_000, unchanged: null } }, [10, iteration(1)]);
    expect(wanted(state)).toMatchObject({ type: 'run', notAfter: 60_000 });
  });

  it('ends when a continuous detector has its claim', () => {
    const state = given(plain, ...begun, output('1.1', { ...claim, claimEndsRun: true }));
    expect(decide(state)).toEqual([]);
    const after = write(state, { ...ended('1.1', { how: 'interrupted' }), at: 1 });
    expect(wanted(after)).toMatchObject({ key: 'claim:1' });
  });
});

describe('a claim', () => {
  const until = (word: string) => ({ ...checked, completion: { ...plain.completion, until: word } });
  const result = (code: number | null) => ({ code, timedOut: code === null, durationMs: 1, log: 'l' });
  const finished = (code: number | null): Happening => ({
    type: 'check.finished',
    iteration: 1,
    run: '1.1',
    index: 0,
    command: 'test',
    result: result(code),
  });
  const checksOf = (code: number | null): Happening[] => [
    { type: 'checks.started', iteration: 1, run: '1.1' },
    finished(code),
  ];
  const made: Happening = { type: 'claim.made', iteration: 1, run: '1.1', ...claim };
  const claimed = [...begun, output('1.1', claim), exited('1.1', 0)] as const;

  it('is judged after the checks have run', () => {
    expect(wanted(given(checked, ...claimed))).toMatchObject({ key: 'checks:1' });
    expect(
      wanted(given(checked, ...claimed, { type: 'checks.started', iteration: 1, run: '1.1' })),
    ).toMatchObject({
      key: 'check:1.1',
      check: { command: 'test' },
      timeoutMs: 600_000,
    });
  });

  it('is accepted if every check passes and rejected if one fails or times out', () => {
    expect(wanted(given(checked, ...claimed, ...checksOf(0), made))).toMatchObject({
      event: { type: 'claim.accepted', verified: true },
    });
    expect(wanted(given(checked, ...claimed, ...checksOf(1), made))).toMatchObject({
      event: { type: 'claim.rejected', failed: ['test'] },
    });
    expect(wanted(given(checked, ...claimed, ...checksOf(null), made))).toMatchObject({
      event: { type: 'claim.rejected' },
    });
  });

  it('is accepted as unverified without checks', () => {
    expect(wanted(given(plain, ...claimed, made))).toMatchObject({
      event: { type: 'claim.accepted', verified: false },
    });
    const accepted: Happening = { type: 'claim.accepted', iteration: 1, run: '1.1', verified: false };
    expect(ending(given(plain, ...claimed, made, accepted))).toEqual({
      type: 'done',
      verified: false,
      childrenLeft: [],
    });
  });

  it('is not needed with --until checks, and checks are not needed with --until claim', () => {
    expect(wanted(given(until('checks'), ...begun, exited('1.1', 0), ...checksOf(0)))).toMatchObject({
      event: { type: 'claim.made', claim: { by: 'checks' } },
    });
    expect(wanted(given(until('checks'), ...claimed, ...checksOf(1)))).toMatchObject({ type: 'wait' });
    expect(wanted(given(until('claim'), ...claimed, ...checksOf(1), made))).toMatchObject({
      event: { type: 'claim.accepted', verified: false },
    });
    expect(wanted(given(until('both'), ...begun, exited('1.1', 0), ...checksOf(0)))).toMatchObject({
      type: 'wait',
    });
  });

  it('by exit code or bus message is judged like any other', () => {
    const byCode = {
      completion: { detectors: [{ kind: 'exit-code', code: 7 }] },
      limits: { unchanged: null },
    };
    expect(wanted(given(byCode, ...begun, exited('1.1', 7)))).toMatchObject({
      event: { type: 'claim.made', claim: { by: 'exit-code' } },
    });
    const byMessage = {
      completion: { detectors: [{ kind: 'bus-message', message: 'FINISHED', phases: ['after'] }] },
      limits: { unchanged: null },
    };
    const probe: Happening = {
      type: 'probe.finished',
      key: 'probe:1.1:after',
      phase: 'after',
      markers: [],
      problem: null,
      messages: ['INFO', 'FINISHED'],
      fingerprint: null,
    };
    expect(wanted(given(byMessage, ...begun, exited('1.1', 0), probe))).toMatchObject({
      event: { claim: { by: 'bus-message', text: 'FINISHED' } },
    });
  });

  it('has to be made and checked again when the checks change', () => {
    const state = given(checked, ...claimed, ...checksOf(0), made);
    const policy = {
      ...state.policy,
      checks: { ...state.policy.checks, commands: [{ command: 'other', action: 'APPEND', hint: null }] },
    } as const;
    expect(wanted(write(state, { type: 'policy.changed', policy, at: 1 }))).toMatchObject({
      key: 'checks:1',
    });
  });
});

describe('the operator', () => {
  const tell = (id: string, text: string) => received(id, { type: 'tell', text });
  const guidance = (state: LoopState) => {
    const effect = wanted(state);
    return effect?.type === 'run'
      ? effect.plan.sections.flatMap((section) => (section.kind === 'guidance' ? section.texts : []))
      : null;
  };

  it('reaches the next prompt once, and again if a usage limit cut that run short', () => {
    const told = given(plain, tell('a', 'use bun'), iteration(1));
    expect(guidance(told)).toEqual(['use bun']);
    const taken: Happening = {
      type: 'run.planned',
      run: '1.1',
      purpose: 'work',
      guidance: ['a'],
      prompt: null,
    };
    const running = [
      { ...taken, at: 1 },
      { ...started('1.1'), at: 1 },
      { ...tell('b', 'and pnpm'), at: 2 },
    ];
    const during = running.reduce(write, told);
    expect(guidance(during)).toEqual(['use bun']);
    const next = [exited('1.1', 0), { type: 'timer.fired', key: 'wait:1.1' }, iteration(2)] as const;
    expect(
      guidance(next.reduce((state, happening) => write(state, { ...happening, at: 3 }), during)),
    ).toEqual(['and pnpm']);
    const limited = [
      output('1.1', limit(4)),
      exited('1.1', 1),
      received('c', { type: 'resume', now: true }),
    ] as const;
    expect(
      guidance(limited.reduce((state, happening) => write(state, { ...happening, at: 5 }), during)),
    ).toEqual(['use bun', 'and pnpm']);
  });

  it('changes limits while the loop runs', () => {
    const state = given(
      plain,
      ...begun,
      exited('1.1', 0),
      received('a', { type: 'set', limits: { iterations: 1 } }),
    );
    expect(ending(state)).toEqual({ type: 'iterations-exhausted', limit: 1 });
  });

  it('pauses before the next run, not in the middle of an iteration', () => {
    const paused = given(checked, ...begun, received('a', { type: 'pause' }));
    expect(wanted(paused)).toMatchObject({ type: 'run' });
    expect(wanted(write(paused, { ...exited('1.1', 0), at: 1 }))).toMatchObject({ key: 'checks:1' });
    expect(wanted(given(plain, received('a', { type: 'pause' })))).toEqual({ type: 'rest', key: 'rest' });
  });

  it('interrupts the run and then ends the loop with `stop --now`', () => {
    const state = given(plain, ...begun, received('a', { type: 'stop', now: true, by: 'person' }));
    expect(decide(state)).toEqual([]);
    expect(ending(write(state, { ...ended('1.1', { how: 'interrupted' }), at: 1 }))).toEqual({
      type: 'stopped',
      by: 'person',
    });
  });

  it('kills with the second signal, whatever the first did', () => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const first = given(
        { ...plain, signals: { SIGTERM: 'pause' } },
        ...begun,
        received('a', { type: 'signal', signal }),
      );
      expect(decide(first)).toHaveLength(1);
      expect(decide(write(first, { ...received('b', { type: 'signal', signal: 'SIGINT' }), at: 1 }))).toEqual(
        [],
      );
    }
  });

  it('does not start a run that was wanted but not planned at the stop', () => {
    expect(
      ending(given(plain, iteration(1), received('a', { type: 'stop', now: false, by: 'person' }))),
    ).toEqual({ type: 'stopped', by: 'person' });
  });

  it('reopens a stopped loop in the iteration that it was in', () => {
    const stopped = given(
      plain,
      ...begun,
      received('a', { type: 'stop', now: true, by: 'person' }),
      ended('1.1', { how: 'interrupted' }),
      { type: 'loop.ended', outcome: { type: 'stopped', by: 'person' } },
    );
    expect(decide(stopped)).toEqual([]);
    expect(wanted(write(stopped, { type: 'loop.reopened', policy: null, at: 9 }))).toMatchObject({
      key: 'run:1.2',
    });
  });

  it('reopens after failures or a fatal error without ending again at once', () => {
    const fatal = ended('1.1', {
      how: 'exited',
      code: 1,
      error: { kind: 'authentication', message: 'log in' },
    });
    const dead = given(plain, ...begun, fatal);
    expect(ending(dead)).toEqual({ type: 'fatal', message: 'log in' });
    const over = write(dead, { type: 'loop.ended', outcome: { type: 'fatal', message: 'log in' }, at: 1 });
    expect(wanted(write(over, { type: 'loop.reopened', policy: null, at: 2 }))).toMatchObject({
      key: 'run:1.2',
    });
  });
});

describe('before `loop.created`', () => {
  it('wants nothing', () => {
    expect(decide(INITIAL)).toEqual([]);
    expect(evolve(INITIAL, { ...iteration(1), at: 1 })).toBe(INITIAL);
  });
});
