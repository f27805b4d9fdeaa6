/** The commands that messages advise: a row brings about the situation of the message and follows it, or says why not. */
import { describe, expect, it } from 'vitest';
import { advisedCommands } from '../rig/advice.ts';
import { NOT_FOLLOWED } from './advice-not-followed.ts';
import { NOTICES } from './advice-in-notices.ts';
import { GIT } from './advice-on-git.ts';
import { REPORTS } from './advice-in-reports.ts';
import { LOOPS } from './advice-on-loops.ts';
import { PLACES } from './advice-on-places.ts';
import { openLoadedStage } from './stage.ts';

const FOLLOWED = [...LOOPS, ...PLACES, ...GIT, ...NOTICES, ...REPORTS];

describe('the advice of a message works where', () => {
  it.each(FOLLOWED.map((one) => [one.situation, one] as const))('%s', async (_, { trust, follow }) => {
    const stage = openLoadedStage(trust === undefined ? {} : { trust });
    await expect(follow(stage)).resolves.toBeUndefined();
  });
});

it('every command that a message advises has a row', () => {
  const rows = [...FOLLOWED.flatMap(({ from }) => from), ...Object.values(NOT_FOLLOWED).flat()];
  expect(rows.toSorted()).toEqual([...advisedCommands()].toSorted());
});
