import { describe, expect, it } from 'vitest';
import { begun, checked, exited, given, plain, received } from '../../test/rig/given.ts';
import { isLastTry, mayStillClaim } from './retry.ts';

describe('a failed run is the last try', () => {
  it.each([
    ['at the limit of failures', { failures: 1 }, true],
    ['at the limit of iterations', { iterations: 1 }, true],
    ['not below these limits', { failures: 2, iterations: 2 }, false],
    ['not without limits', { failures: null, iterations: null }, false],
  ])('%s', (_, limits, expected) => {
    expect(
      isLastTry(given({ ...plain, limits: { unchanged: null, ...limits } }, ...begun, exited('1.1', 1))),
    ).toBe(expected);
  });

  it.each(['pause', 'stop'] as const)('if the loop gets a %s meanwhile', (type) => {
    const control = type === 'stop' ? ({ type, now: false, by: 'person' } as const) : { type };
    expect(isLastTry(given(plain, ...begun, received('c', control), exited('1.1', 1)))).toBe(true);
  });
});

describe('a failed run can still claim', () => {
  it('where checks alone decide', () => {
    const byChecks = { ...checked, completion: { ...plain.completion, until: 'checks' as const } };
    expect(mayStillClaim(given(byChecks, ...begun, exited('1.1', 1)))).toBe(true);
  });

  it('not by its word without evidence', () => {
    expect(mayStillClaim(given(plain, ...begun, exited('1.1', 1)))).toBe(false);
  });
});
