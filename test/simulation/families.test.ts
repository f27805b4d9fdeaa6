import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { familyScenario } from './family-scenario.ts';
import { HISTORIES, replay } from './histories.ts';
import { simulateFamily } from './simulate-family.ts';

const FAMILIES = Math.ceil(HISTORIES / 5);

it(
  `keeps L18 in ${FAMILIES} families whose owners die and whose limits change`,
  { timeout: 600_000 },
  async () => {
    // Histories without these ends would prove nothing about them.
    const unseen = new Set(['cost-exhausted', 'tokens-exhausted', 'time-exhausted']);
    let restarts = 0;
    await fc.assert(
      fc.asyncProperty(familyScenario, async (drawn) => {
        const history = await simulateFamily(drawn);
        restarts += history.restarts;
        for (const outcome of history.outcomes)
          if (outcome !== null && 'family' in outcome) unseen.delete(outcome.type);
      }),
      { numRuns: FAMILIES, ...replay },
    );
    expect(FAMILIES < 500 || 'path' in replay ? [] : [...unseen]).toEqual([]);
    expect(restarts).toBeGreaterThan(0);
  },
);
