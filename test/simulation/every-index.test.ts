import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { replay } from './histories.ts';
import { scenario } from './scenario.ts';
import { simulate } from './simulate.ts';

it(
  'keeps L1 to L17 when the driver crashes once before or after any event of a history',
  { timeout: 120_000 },
  () => {
    let crashes = 0;
    fc.assert(
      fc.property(scenario, (drawn) => {
        const calm = { ...drawn, crashesAfter: [], crashesBefore: [] };
        const { journal } = simulate(calm);
        for (let index = 1; index <= journal.length; index++) {
          crashes += simulate({ ...calm, crashesAfter: [index] }).restarts;
          crashes += simulate({ ...calm, crashesBefore: [index] }).restarts;
        }
      }),
      // `histories-1.test.ts` crashes at random indices of thousands of histories.
      { numRuns: 30, ...replay },
    );
    expect(crashes).toBeGreaterThan(0);
  },
);
