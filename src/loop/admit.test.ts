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
  tells,
} from '../../test/rig/given.ts';
import { admits } from './admit.ts';
import type { Happening } from './event.ts';
import { INITIAL } from './evolve.ts';
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
const says = (state: LoopState, happening: Happening, at = state.now): boolean =>
  admits(state, { ...happening, at });

describe('an answer', () => {
  it('is admitted while its question stands', () => {
    expect(says(given(plain), iteration(1))).toBe(true);
    expect(says(given(plain, iteration(1)), planned('1.1'))).toBe(true);
    expect(says(given(plain, ...begun), ending)).toBe(true);
    expect(says(given(checked, ...begun, exited('1.1', 0)), checks)).toBe(true);
    expect(says(given(checked, ...begun, exited('1.1', 0), checks), check(0))).toBe(true);
  });

  it('is refused a second time', () => {
    expect(says(given(plain, iteration(1)), iteration(1))).toBe(false);
    expect(says(given(plain, ...begun), planned('1.1'))).toBe(false);
    expect(says(given(plain, ...begun, exited('1.1', 0)), ending)).toBe(false);
    expect(says(given(checked, ...begun, exited('1.1', 0), checks), checks)).toBe(false);
    expect(says(given(checked, ...begun, exited('1.1', 0), checks, check(0)), check(0))).toBe(false);
  });

  it('is refused when it answers something else', () => {
    expect(says(given(plain), iteration(2))).toBe(false);
    expect(says(given(plain, iteration(1)), planned('1.2'))).toBe(false);
    expect(says(given(plain, ...begun), { ...ending, run: '0.1' })).toBe(false);
    expect(says(given(checked, ...begun, exited('1.1', 0), checks), check(0, '1.0'))).toBe(false);
    expect(says(given(checked, ...begun, exited('1.1', 0), checks), check(1))).toBe(false);
    expect(says(given(plain, ...begun), { type: 'loop.ended', outcome: { type: 'waiting' } })).toBe(false);
  });

  it('is refused when it knows less than is known', () => {
    const state = given(plain, ...begun, output('1.1', { offset: 500 }));
    expect(says(state, output('1.1', { offset: 499 }))).toBe(false);
    expect(says(state, output('1.1', { offset: 500 }))).toBe(true);
  });
});

describe('a timer', () => {
  const waiting = given(plain, ...begun, output('1.1', limit(9000)), exited('1.1', 1));

  it('is admitted when its time has come, and not before', () => {
    expect(says(waiting, timer('wait:1.1'), 8999)).toBe(false);
    expect(says(waiting, timer('wait:1.1'), 9000)).toBe(true);
  });

  it('is refused when nobody waits for it', () => {
    expect(says(waiting, timer('wait:0.1'), 9000)).toBe(false);
    expect(says(given(plain, ...begun), timer('wait:1.1'), 9000)).toBe(false);
    expect(
      says(
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

describe('control', () => {
  it('is admitted once by its id, and never where there is no loop', () => {
    const pause = tells('a', { type: 'pause' });
    expect(says(given(plain), pause)).toBe(true);
    expect(says(given(plain, pause), pause)).toBe(false);
    expect(says(INITIAL, pause)).toBe(false);
  });
});

describe('a policy', () => {
  it('is admitted only if it is a possible one, whichever way it comes', () => {
    const state = given(plain);
    const bad = { ...state.policy, limits: { ...state.policy.limits, iterations: 0 } };
    expect(says(state, { type: 'policy.changed', policy: bad })).toBe(false);
    expect(says(state, { type: 'policy.changed', policy: state.policy })).toBe(true);
    expect(says(state, tells('a', { type: 'set', limits: { iterations: -3 } }))).toBe(false);
    expect(says(state, tells('a', { type: 'set', limits: { iterations: 3 } }))).toBe(true);
    expect(says(INITIAL, { type: 'loop.created', name: 'x', policy: bad })).toBe(false);
  });
});

describe('the end', () => {
  const stop = tells('a', { type: 'stop', now: true, by: 'person' });
  const end: Happening = { type: 'loop.ended', outcome: { type: 'stopped', by: 'person' } };
  const over = given(plain, stop, end);

  it('is admitted when it is wanted', () => {
    expect(says(given(plain, stop), end)).toBe(true);
    expect(says(given(plain), end)).toBe(false);
    expect(
      says(given(plain, stop), {
        type: 'loop.ended',
        outcome: { type: 'done', verified: true, childrenLeft: [] },
      }),
    ).toBe(false);
  });

  it('leaves only a new beginning to be admitted', () => {
    const everything: Happening[] = [
      { type: 'owner.changed', owner: 'x' },
      { type: 'policy.changed', policy: over.policy },
      { type: 'child.started', child: 'kid' },
      tells('b', { type: 'resume', now: true }),
      iteration(1),
      planned('1.1'),
      ending,
      checks,
      timer('wait:1.1'),
      end,
    ];
    expect(everything.filter((happening) => says(over, happening))).toEqual([]);
    expect(says(over, { type: 'loop.reopened', policy: null })).toBe(true);
    expect(says(given(plain), { type: 'loop.reopened', policy: null })).toBe(false);
  });
});
