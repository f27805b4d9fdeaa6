import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RunEnding } from '../../src/loop/event.ts';
import { EXIT_CODES, restOf } from '../../src/loop/outcome.ts';
import { PRESET_NAMES } from '../../src/loop/policy.ts';
import { engineScenario, scenarioOf } from './engine-scenario.ts';
import { HISTORIES, replay } from './histories.ts';
import { simulateEngine } from './simulate-engine.ts';

/** The engine awaits promises and takes more than twice as long as the toy driver. */
const FEWER = Math.ceil(HISTORIES / 2);

const ENDINGS = ['exited', 'interrupted', 'not-started', 'wall', 'inactivity', 'output', 'total'];

it(`keeps L1 to L17 and E1 to E7 in ${FEWER} histories with the engine`, { timeout: 600_000 }, async () => {
  // A paused loop has not ended.
  const unseen = new Set([...Object.keys(EXIT_CODES).filter((rest) => rest !== 'paused'), ...ENDINGS]);
  let restarts = 0;
  let lost = 0;
  let leftRunning = 0;
  await fc.assert(
    fc.asyncProperty(engineScenario, async (drawn) => {
      const history = await simulateEngine(drawn);
      restarts += history.restarts;
      lost += history.lost;
      leftRunning += history.leftRunning;
      if (history.state.outcome !== null) unseen.delete(restOf(history.state.outcome));
      for (const event of history.journal)
        if (event.type === 'run.ended') unseen.delete(nameOf(event.ending));
    }),
    { numRuns: FEWER, ...replay },
  );
  // Histories that miss an outcome or an ending would prove nothing about it.
  expect(FEWER < 2500 || 'path' in replay ? [] : [...unseen]).toEqual([]);
  expect(restarts + lost).toBeGreaterThan(0);
  expect(leftRunning).toBeGreaterThan(0);
});

it(
  'keeps L1 to L17 and E1 to E6 when the engine crashes once before or after any event of a history',
  { timeout: 600_000 },
  async () => {
    let crashes = 0;
    let events = 0;
    await fc.assert(
      fc.asyncProperty(engineScenario, async (drawn) => {
        const calm = { ...drawn, crashesAfter: [], crashesBefore: [], ...STAYS };
        const { journal } = await simulateEngine(calm);
        events += journal.length;
        for (let index = 1; index <= journal.length; index++) {
          // oxlint-disable-next-line no-await-in-loop -- the clock is fake, so this takes no time
          const after = await simulateEngine({ ...calm, crashesAfter: [index] });
          // oxlint-disable-next-line no-await-in-loop -- see above
          const before = await simulateEngine({ ...calm, crashesBefore: [index] });
          crashes += after.restarts + before.restarts;
        }
      }),
      // `every-index.test.ts` plays more histories with the toy driver.
      { numRuns: 15, ...replay },
    );
    // Nearly two crashes per event: there is none at `owner.changed`.
    expect(crashes).toBeGreaterThan(events);
  },
);

it.each(PRESET_NAMES)(
  'leaves a loop of preset %s after every event and in every effect, and another owner finishes it',
  { timeout: 600_000 },
  async (preset) => {
    let left = 0;
    let leftRunning = 0;
    await fc.assert(
      fc.asyncProperty(scenarioOf(preset), async (drawn) => {
        const calm = { ...drawn, crashesAfter: [], crashesBefore: [], ...STAYS };
        const { journal, pauses } = await simulateEngine(calm);
        const leaves = [
          ...journal.map((_, index) => ({ ...calm, leavesAfter: [index + 1] })),
          ...Array.from({ length: pauses }, (_, index) => ({ ...calm, leavesDuring: [index + 1] })),
        ];
        for (const scenario of leaves) {
          // oxlint-disable-next-line no-await-in-loop -- the clock is fake, so nothing is waited for
          const history = await simulateEngine(scenario);
          left += history.left;
          leftRunning += history.leftRunning;
        }
      }),
      { numRuns: 5, ...replay },
    );
    expect(left).toBeGreaterThan(0);
    expect(leftRunning).toBeGreaterThan(0);
  },
);

const STAYS = { leavesAfter: [], leavesDuring: [] };

function nameOf(ending: RunEnding): string {
  return ending.how === 'timed-out' ? ending.which : ending.how;
}
