/** Loops for the background whose creator is killed before the daemon owns them. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { exits } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

async function killed(when: 'before it enlists' | 'enlists'): Promise<void> {
  const fixture = rig.fixture('dies-after-creating.mjs');
  await rig.program([process.execPath, fixture, rig.workspace, 'a', when, ...rig.agent]).ended;
  expect(rig.loop('a').events.map(({ type }) => type)).toEqual(['loop.created', 'start.recorded']);
}

/** Lets the agent end, and the loop with it: at its limit of one iteration, which ran once. */
async function ends(): Promise<void> {
  await (await rig.nextTurn()).exits(0);
  await rig.loop('a').journals('loop.ended', ({ outcome }) => outcome.type === 'iterations-exhausted');
  expect(rig.turns).toBe(1);
  expect((await rig.does('story', 'a')).stdout).not.toContain('crashed');
}

it('has an entry already: the next command starts a daemon that owns it', async () => {
  await killed('enlists');
  const status = await rig.does('status', 'a');
  exits(status, 0);
  expect(status.stdout).toMatch(/^Status: running\n/m);
  await ends();
});

it('has no entry yet: it is shown as left, and resume gives it to the daemon', async () => {
  await killed('before it enlists');
  const status = await rig.does('status', 'a');
  exits(status, 1);
  expect(status.stdout).toMatch(/^Status: left\n/m);
  expect(status.stdout).toContain('ralph resume a');
  expect(rig.daemon.pid).toBeNull();
  exits(await rig.does('resume', 'a'), 0);
  await ends();
});
