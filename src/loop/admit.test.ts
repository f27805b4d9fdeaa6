import { describe, expect, it } from 'vitest';
import {
  begun,
  checked,
  exited,
  given,
  iteration,
  limit,
  output,
  plain,
  planned,
  received,
} from '../../test/rig/given.ts';
import { admits } from './admit.ts';
import type { Happening } from './event.ts';
import { INITIAL } from './initial.ts';
import type { LoopState } from './state.ts';

const result = { code: 0, timedOut: false, durationMs: 1, log: 'l' };
const checks: Happening = { type: 'checks.started', iteration: 1, run: '1.1' };
const check = (index: number, run = '1.1'): Happening => ({
  type: 'check.finished',
  iteration: 1,
  run,
  index,
  command: 'test',
  result,
});
const timer = (key: string): Happening => ({ type: 'timer.fired', key });
const ending: Happening = {
  type: 'run.ended',
  run: '1.1',
  ending: { how: 'interrupted' },
  as: 'interrupted',
  jitter: 0,
};
const isAdmitted = (state: LoopState, happening: Happening, at = state.now): boolean =>
  admits(state, { ...happening, at });

describe('the result of an effect', () => {
  it('is admitted while the effect is wanted', () => {
    expect(isAdmitted(given(plain), iteration(1))).toBe(true);
    expect(isAdmitted(given(plain, iteration(1)), planned('1.1'))).toBe(true);
    expect(isAdmitted(given(plain, ...begun), ending)).toBe(true);
    expect(isAdmitted(given(checked, ...begun, exited('1.1', 0)), checks)).toBe(true);
    expect(isAdmitted(given(checked, ...begun, exited('1.1', 0), checks), check(0))).toBe(true);
  });

  it('is rejected the second time', () => {
    expect(isAdmitted(given(plain, iteration(1)), iteration(1))).toBe(false);
    expect(isAdmitted(given(plain, ...begun), planned('1.1'))).toBe(false);
    expect(isAdmitted(given(plain, ...begun, exited('1.1', 0)), ending)).toBe(false);
    expect(isAdmitted(given(checked, ...begun, exited('1.1', 0), checks), checks)).toBe(false);
    expect(isAdmitted(given(checked, ...begun, exited('1.1', 0), checks, check(0)), check(0))).toBe(false);
  });

  it('is rejected if it belongs to another effect', () => {
    expect(isAdmitted(given(plain), iteration(2))).toBe(false);
    expect(isAdmitted(given(plain, iteration(1)), planned('1.2'))).toBe(false);
    expect(isAdmitted(given(plain, ...begun), { ...ending, run: '0.1' })).toBe(false);
    expect(isAdmitted(given(checked, ...begun, exited('1.1', 0), checks), check(0, '1.0'))).toBe(false);
    expect(isAdmitted(given(checked, ...begun, exited('1.1', 0), checks), check(1))).toBe(false);
    expect(isAdmitted(given(plain, ...begun), { type: 'loop.ended', outcome: { type: 'waiting' } })).toBe(
      false,
    );
  });

  it('is rejected if its output offset is behind the known one', () => {
    const state = given(plain, ...begun, output('1.1', { offset: 500 }));
    expect(isAdmitted(state, output('1.1', { offset: 499 }))).toBe(false);
    expect(isAdmitted(state, output('1.1', { offset: 500 }))).toBe(true);
  });
});

describe('a timer', () => {
  const waiting = given(plain, ...begun, output('1.1', limit(9000)), exited('1.1', 1));

  it('is admitted at its time, and not before', () => {
    expect(isAdmitted(waiting, timer('wait:1.1'), 8999)).toBe(false);
    expect(isAdmitted(waiting, timer('wait:1.1'), 9000)).toBe(true);
  });

  it('is rejected if no effect waits for it', () => {
    expect(isAdmitted(waiting, timer('wait:0.1'), 9000)).toBe(false);
    expect(isAdmitted(given(plain, ...begun), timer('wait:1.1'), 9000)).toBe(false);
    expect(
      isAdmitted(
        given(
          { ...plain, commit: { command: 'git', tasks: ['commit'], message: 'agent', timeoutMs: null } },
          ...begun,
          exited('1.1', 0),
        ),
        timer('wait:1.1'),
      ),
    ).toBe(false);
  });
});

describe('a control', () => {
  it('is admitted once per id, and not before the loop is created', () => {
    const pause = received('a', { type: 'pause' });
    expect(isAdmitted(given(plain), pause)).toBe(true);
    expect(isAdmitted(given(plain, pause), pause)).toBe(false);
    expect(isAdmitted(INITIAL, pause)).toBe(false);
  });
});

describe('a policy', () => {
  it('is admitted only if it is valid, with every event that carries one', () => {
    const state = given(plain);
    const bad = { ...state.policy, limits: { ...state.policy.limits, iterations: 0 } };
    expect(isAdmitted(state, { type: 'policy.changed', policy: bad })).toBe(false);
    expect(isAdmitted(state, { type: 'policy.changed', policy: state.policy })).toBe(true);
    expect(isAdmitted(state, received('a', { type: 'set', limits: { iterations: -3 } }))).toBe(false);
    expect(isAdmitted(state, received('a', { type: 'set', limits: { iterations: 3 } }))).toBe(true);
    expect(isAdmitted(INITIAL, { type: 'loop.created', name: 'x', policy: bad })).toBe(false);
  });
});

describe('the end', () => {
  const stop = received('a', { type: 'stop', now: true, by: 'person' });
  const end: Happening = { type: 'loop.ended', outcome: { type: 'stopped', by: 'person' } };
  const over = given(plain, stop, end);

  it('is admitted when `decide` wants it', () => {
    expect(isAdmitted(given(plain, stop), end)).toBe(true);
    expect(isAdmitted(given(plain), end)).toBe(false);
    expect(
      isAdmitted(given(plain, stop), {
        type: 'loop.ended',
        outcome: { type: 'done', verified: true, childrenLeft: [] },
      }),
    ).toBe(false);
  });

  it('admits only `loop.reopened` afterwards', () => {
    const everything: Happening[] = [
      { type: 'owner.changed', owner: 'x' },
      { type: 'policy.changed', policy: over.policy },
      { type: 'child.started', child: 'kid' },
      received('b', { type: 'resume', now: true }),
      iteration(1),
      planned('1.1'),
      ending,
      checks,
      timer('wait:1.1'),
      end,
    ];
    expect(everything.filter((happening) => isAdmitted(over, happening))).toEqual([]);
    expect(isAdmitted(over, { type: 'loop.reopened', policy: null })).toBe(true);
    expect(isAdmitted(given(plain), { type: 'loop.reopened', policy: null })).toBe(false);
  });
});
