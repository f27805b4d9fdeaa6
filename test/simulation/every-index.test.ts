import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { replay } from './histories.ts';
import { scenario } from './scenario.ts';
import { simulate } from './simulate.ts';

it('dies before and after every single event of a history, one death at a time', { timeout: 120_000 }, () => {
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
});
