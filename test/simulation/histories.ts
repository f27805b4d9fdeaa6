import * as fc from 'fast-check';
import { expect } from 'vitest';
import { EXIT_CODES } from '../../src/loop/outcome.ts';
import { scenario } from './scenario.ts';
import { simulate } from './simulate.ts';

const { RALPH_HISTORIES, RALPH_SEED, RALPH_PATH } = process.env;

/** Ten thousand by default, in two files, so that two cores share them. */
export const HISTORIES: number = Number(RALPH_HISTORIES ?? 10_000) / 2;

/** A failure prints its seed and path; `RALPH_SEED=… RALPH_PATH=… npx vitest run test/simulation` lives it again. */
export const replay: { readonly seed?: number; readonly path?: string } =
  RALPH_SEED === undefined ? {} : { seed: Number(RALPH_SEED), path: RALPH_PATH ?? '' };

/** The toy driver always has a prompt, and a loop never ends by being paused. */
const OUT_OF_REACH = new Set(['prompt-lost', 'paused']);

/** Lives through so many histories, and makes sure that they got somewhere. */
export function keepInvariants(): void {
  const unseen = new Set(Object.keys(EXIT_CODES).filter((rest) => !OUT_OF_REACH.has(rest)));
  let restarts = 0;
  fc.assert(
    fc.property(scenario, (drawn) => {
      const history = simulate(drawn);
      restarts += history.restarts;
      unseen.delete(history.state.outcome?.type ?? '');
    }),
    { numRuns: HISTORIES, ...replay },
  );
  // Histories that never get anywhere would prove nothing: every way to end must have been taken.
  expect(HISTORIES < 5000 || RALPH_PATH !== undefined ? [] : [...unseen]).toEqual([]);
  expect(restarts).toBeGreaterThan(0);
}
