import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { LoopEvent } from '../../src/loop/event.ts';
import { evolve } from '../../src/loop/evolve.ts';
import { INITIAL } from '../../src/loop/initial.ts';
import { findProblems } from '../../src/loop/validate.ts';
import { replay } from './histories.ts';
import { must, same } from './plain.ts';
import { scenario } from './scenario.ts';
import { simulate } from './simulate.ts';

it('L5 folds a journal of an earlier version to the same valid policy at every index', () => {
  let changes = 0;
  fc.assert(
    fc.property(scenario, ({ change, ...drawn }) => {
      const { journal } = simulate({ ...drawn, change });
      let state = INITIAL;
      let older = INITIAL;
      for (const event of journal) {
        if (event.type === 'policy.changed') changes++;
        state = evolve(state, event);
        older = evolve(older, asEarlier(event));
        must(same(older, state), 'L5', `an older ${event.type} folds to another state`);
      }
      must(findProblems(older.policy).length === 0, 'L5', 'the policy of an older journal is not valid');
    }),
    { numRuns: 500, ...replay },
  );
  expect(changes).toBeGreaterThan(0);
});

/**
 * The event as a version wrote it that did not know `policy.wording`, `terminated`, `stateEdits` and, where it has its
 * default, `evidence`, and had `outageIs`.
 */
function asEarlier(event: LoopEvent): LoopEvent {
  if (!('policy' in event) || event.policy === null) return event;
  const { wording: _, stateEdits: __, evidence, ...policy } = event.policy;
  const watched = evidence.protect.length === 0 ? {} : { evidence };
  const { terminated, ...exitCodes } = policy.exitCodes;
  const delay = { ...policy.delay, outageIs: 'failure' };
  // A loop of that version had one exit code for all signals.
  const codes = terminated === exitCodes.stopped ? exitCodes : policy.exitCodes;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what an older version wrote has other fields
  return { ...event, policy: { ...policy, ...watched, delay, exitCodes: codes } } as object as LoopEvent;
}
