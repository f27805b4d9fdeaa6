/** A daemon that stands still: it is ended by its own guard, or by a command, and the other loops go on. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exits, type Program } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import type { Turn } from '../rig/cli/turn.ts';
import { until } from '../rig/cli/until.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

/** A daemon that freezes, or throws, at a line of an agent. */
async function fragileDaemon(freezeMs: number): Promise<Program> {
  const other = rig.daemon.pid;
  const daemon = rig.program(
    [process.execPath, '--import', rig.fixture('freezes.mjs'), rig.command, 'daemon', 'run', '--stay'],
    { RALPH_TEST_FREEZE_MS: String(freezeMs) },
  );
  await rig.daemon.runs(other);
  return daemon;
}

/** Starts a loop in the background, and returns its first turn. */
async function starts(name: string): Promise<Turn> {
  const loop = ['run', 'task', '--name', name, '--detach', '--agent', 'scripted', '--', ...rig.agent];
  exits(await rig.does(...loop), 0);
  const turn = await rig.nextTurn();
  await rig.loop(name).journals('run.started');
  return turn;
}

const says = (word: string): string => `${JSON.stringify({ type: 'text', message: word, text: word })}\n`;
const notes = (name: string): string => join(rig.loop(name).folder, 'trouble.json');
const isDead = (program: Program): Promise<true> =>
  until('the end of the daemon', () => program.isOver || null, { seen: () => rig.daemon.log });

async function goesOn(name: string, turn: Turn): Promise<void> {
  await turn.prints(says('<promise>DONE</promise>'));
  await turn.exits(0);
  expect(await rig.loop(name).journals('loop.ended')).toMatchObject({ outcome: { type: 'done' } });
}

const FREEZE_MS = 1000;
/** Nothing of these tests takes so long. */
const NEVER_MS = 600_000;

describe('a loop that ends the daemon', () => {
  it.each([
    ['FREEZE', 'kept it busy for more than 1 s'],
    ['THROW', 'threw an internal error: thrown by the test'],
  ])('by %s twice at the same event is set aside, and the other loops go on', async (word, what) => {
    let daemon = await fragileDaemon(FREEZE_MS);
    const calm = await starts('calm');
    const bad = await starts('bad');
    await bad.prints(says(word));
    await isDead(daemon);
    expect(JSON.parse(readFileSync(notes('bad'), 'utf8'))).toMatchObject({ times: 1, what });
    expect(statSync(notes('bad')).mode & 0o777).toBe(0o600);
    expect(existsSync(notes('calm'))).toBe(false);
    // The next daemon takes both over.
    await Promise.all(['calm', 'bad'].map((name) => rig.loop(name).journals('owner.changed', () => true, 2)));
    await rig.daemon.crashes();

    daemon = await fragileDaemon(FREEZE_MS);
    await isDead(daemon);
    await until(
      'the note',
      () => (rig.daemon.log.includes('bad') && rig.daemon.log.includes('set aside')) || null,
      {
        seen: () => rig.daemon.log,
      },
    );
    const status = await rig.does('status', 'bad');
    exits(status, 1);
    expect(status.stdout).toContain(`it ended the daemon 2 times, because it ${what}`);
    expect(status.stdout).toContain('Next: ralph resume bad');
    expect((await rig.does('ls')).stdout).toContain('set aside');
    await goesOn('calm', calm);

    exits(await rig.does('resume', 'bad'), 0);
    expect(existsSync(notes('bad'))).toBe(false);
    await goesOn('bad', bad);
  });

  it('is not blamed for a kill from outside', async () => {
    const turn = await starts('a');
    await rig.daemon.crashes();
    exits(await rig.does('ls'), 0);
    await rig.loop('a').journals('owner.changed', () => true, 2);
    expect(existsSync(notes('a'))).toBe(false);
    await goesOn('a', turn);
  });
});

describe('a daemon that does not respond', () => {
  const stops = {
    'is suspended': async (): Promise<unknown> => process.kill(await rig.daemon.runs(), 'SIGSTOP'),
    'is busy': (turn: Turn): Promise<unknown> => turn.prints(says('FREEZE')),
  };

  it.each(Object.entries(stops))(
    'because it %s does not keep ralph kill from ending a loop; the others go on under the next daemon',
    async (_, stop) => {
      const daemon = await fragileDaemon(NEVER_MS);
      const calm = await starts('calm');
      const bad = await starts('bad');
      await stop(bad);
      const killed = await rig.does('kill', 'bad');
      exits(killed, 0);
      expect(killed.stdout).toContain('killed bad');
      expect(killed.stderr).toContain(`(process ${daemon.pid}), which did not respond`);
      await bad.gone;
      expect(await rig.loop('bad').journals('loop.ended')).toMatchObject({ outcome: { type: 'stopped' } });
      await goesOn('calm', calm);
      expect(daemon.isOver).toBe(true);
    },
  );

  it.each(Object.entries(stops))(
    'because it %s is ended by ralph daemon stop --now, and its agents keep running',
    async (_, stop) => {
      const daemon = await fragileDaemon(NEVER_MS);
      const turn = await starts('a');
      await stop(turn);
      const stopped = await rig.does('daemon', 'stop', '--now');
      exits(stopped, 0);
      expect(stopped.stdout).toContain(`stopped the daemon (process ${daemon.pid}); 1 loop left`);
      await isDead(daemon);
      exits(await rig.does('ls'), 0);
      await rig.loop('a').journals('owner.changed', () => true, 2);
      await goesOn('a', turn);
    },
  );
});
