import { describe, expect, it } from 'vitest';
import {
  ending,
  exited,
  given,
  iteration,
  output,
  plain,
  planned,
  wanted,
  write,
  type Entry,
} from '../../test/rig/given.ts';
import type { LoopState } from './state.ts';

const watching = { ...plain, limits: { unchanged: null, iterations: 50, repeats: 3 }, checkpoint: true };

type Told = Parameters<typeof given>[1];
const ends = (n: number, answer: string | null): Told[] => [
  iteration(n),
  planned(`${n}.1`),
  output(`${n}.1`, answer === null ? { steps: 1 } : { answer }),
  exited(`${n}.1`, 0),
];
const taken = (n: number, fingerprint: string): Entry => ({
  type: 'checkpoint.taken',
  iteration: n,
  ref: 'r',
  error: null,
  fingerprint,
});
const turn = (n: number, answer: string | null, tree = 'a'): Told[] => [
  ...ends(n, answer),
  taken(n, tree),
  [n, { type: 'timer.fired', key: `wait:${n}.1` }],
];
/** After turns with these answers; null stands for a tool call. The last turn still has to end the loop. */
const after = (...answers: readonly (string | null)[]): LoopState =>
  given(watching, ...answers.flatMap((answer, index) => turn(index + 1, answer)));
const STUCK = { type: 'stuck', unchanged: 3, sameAnswer: true };

describe('S5.1 the same answer again and again', () => {
  it('ends the loop at the limit, and not before', () => {
    expect(ending(after('x', 'x'))).toBeNull();
    expect(ending(after('x', 'x', 'x'))).toEqual(STUCK);
    expect(after('x', 'x').repeats.times).toBe(2);
  });

  it.each([
    ['another answer', ['x', 'x', 'y', 'x', 'x']],
    ['a tool call', ['x', 'x', null, 'x', 'x']],
  ])('is interrupted by %s', (_, answers) => {
    expect(ending(after(...answers))).toBeNull();
  });

  it('is interrupted by a changed file', () => {
    const changed = given(
      watching,
      ...turn(1, 'x'),
      ...turn(2, 'x'),
      ...turn(3, 'x', 'b'),
      ...turn(4, 'x', 'b'),
    );
    expect([ending(changed), changed.repeats.times]).toEqual([null, 2]);
  });

  it('is not looked for without a limit', () => {
    const limits = { ...watching.limits, repeats: null };
    const state = given({ ...watching, limits }, ...[1, 2, 3, 4].flatMap((n) => turn(n, 'x')));
    expect(ending(state)).toBeNull();
  });

  it('needs the tree of turns without a tool call only', () => {
    expect(wanted(given(watching, ...ends(1, 'x')))).toMatchObject({ type: 'checkpoint', fingerprint: true });
    expect(wanted(given(watching, ...ends(1, null)))).toMatchObject({
      type: 'checkpoint',
      fingerprint: false,
    });
  });

  it('counts from the beginning when the loop is resumed', () => {
    const stuck = after('x', 'x', 'x');
    const outcome = ending(stuck);
    if (outcome === null) throw new Error('the loop is not stuck');
    const ended = write(stuck, { type: 'loop.ended', outcome, at: 9000 });
    const reopened = write(ended, { type: 'loop.reopened', policy: null, at: 9001 });
    expect([reopened.repeats.times, ending(reopened)]).toEqual([expect.any(Number), null]);
    expect(reopened.repeats.times).toBeLessThan(2);
  });
});
