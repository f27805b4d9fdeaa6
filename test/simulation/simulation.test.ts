import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EXIT_CODES } from '../../src/loop/outcome.ts';
import { scenario } from './scenario.ts';
import { simulate } from './simulate.ts';

const { RALPH_HISTORIES, RALPH_SEED, RALPH_PATH } = process.env;
const HISTORIES = Number(RALPH_HISTORIES ?? 10_000);

/** A failure prints its seed and path; `RALPH_SEED=… RALPH_PATH=… npx vitest run test/simulation` lives it again. */
const replay = RALPH_SEED === undefined ? {} : { seed: Number(RALPH_SEED), path: RALPH_PATH ?? '' };

/** The toy driver always has a prompt, and a loop never ends by being paused. */
const OUT_OF_REACH = new Set(['prompt-lost', 'paused']);

describe('the loop in a faulty world', () => {
  it(`keeps L1 to L12 in ${HISTORIES} histories with crashes at any index`, { timeout: 600_000 }, () => {
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
    expect(HISTORIES < 10_000 || RALPH_PATH !== undefined ? [] : [...unseen]).toEqual([]);
    expect(restarts).toBeGreaterThan(0);
  });

  it(
    'dies before and after every single event of a history, one death at a time',
    { timeout: 120_000 },
    () => {
      let deaths = 0;
      fc.assert(
        fc.property(scenario, (drawn) => {
          const calm = { ...drawn, crashesAfter: [], crashesBefore: [] };
          const { journal } = simulate(calm);
          for (let index = 1; index <= journal.length; index++) {
            deaths += simulate({ ...calm, crashesAfter: [index] }).restarts;
            deaths += simulate({ ...calm, crashesBefore: [index] }).restarts;
          }
        }),
        { numRuns: 50, ...replay },
      );
      expect(deaths).toBeGreaterThan(0);
    },
  );
});
