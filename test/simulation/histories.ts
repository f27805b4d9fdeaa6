import * as fc from 'fast-check';
import { expect } from 'vitest';
import { EXIT_CODES, restOf } from '../../src/loop/outcome.ts';
import { scenario } from './scenario.ts';
import { simulate } from './simulate.ts';

const { RALPH_HISTORIES, RALPH_SEED, RALPH_PATH } = process.env;

/** Ten thousand by default, in two files, so that they run on two cores. */
export const HISTORIES: number = Number(RALPH_HISTORIES ?? 10_000) / 2;

/** A failure prints its seed and path; `RALPH_SEED=… RALPH_PATH=… npx vitest run test/simulation` repeats it. */
export const replay: { readonly seed?: number; readonly path?: string } =
  RALPH_SEED === undefined ? {} : { seed: Number(RALPH_SEED), path: RALPH_PATH ?? '' };

/** The toy driver always has a prompt, and a paused loop has not ended. */
const OUT_OF_REACH = new Set(['prompt-lost', 'paused']);

/** Plays the histories and verifies that they reach every outcome. */
export function keepInvariants(): void {
  const unseen = new Set(Object.keys(EXIT_CODES).filter((rest) => !OUT_OF_REACH.has(rest)));
  let restarts = 0;
  fc.assert(
    fc.property(scenario, (drawn) => {
      const history = simulate(drawn);
      restarts += history.restarts;
      if (history.state.outcome !== null) unseen.delete(restOf(history.state.outcome));
    }),
    { numRuns: HISTORIES, ...replay },
  );
  // Histories that miss an outcome would prove nothing about it.
  expect(HISTORIES < 5000 || RALPH_PATH !== undefined ? [] : [...unseen]).toEqual([]);
  expect(restarts).toBeGreaterThan(0);
}
