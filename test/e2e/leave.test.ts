import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exits, type Program } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import { until } from '../rig/cli/until.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

/** Waits until the shim of an agent that has no owner is gone too. */
const nothingIsLeft = (): Promise<true> => until('nothing is left', () => rig.left().length === 0 || null);

/** A loop called `a` that is not finished and has no owner, with an agent that the test controls. */
async function unowned(...options: readonly string[]): Promise<void> {
  const starter = rig.ralph(['run', 'task', '--name', 'a', ...options, '--', ...rig.agent]);
  const turn = await rig.nextTurn();
  await rig.loop('a').journals('run.started');
  await starter.crashes();
  await turn.exits(0);
}

const driver = (): Program =>
  rig.program([process.execPath, rig.fixture('drives-in-background.mjs'), rig.workspace, 'a']);

/** Drives `a` in the background until SIGTERM. */
async function background(): Promise<Program> {
  const owner = driver();
  await owner.says('owned');
  return owner;
}

/** Sends SIGTERM to the owner alone, as an init system does, and returns what it printed. */
async function leaves(owner: Program): Promise<string> {
  process.kill(owner.pid, 'SIGTERM');
  const end = await owner.ended;
  exits(end, 0);
  return end.stdout;
}

describe('an owner that leaves', () => {
  it('exits while the agent keeps working, and the next owner finishes that run', async () => {
    await unowned('--check', 'test -f ok');
    const owner = await background();
    const turn = await rig.nextTurn();
    await turn.prints('working\n');
    await rig.loop('a').journals('run.started', () => true, 2);
    expect(await leaves(owner)).toBe('owned\nleft\n');
    expect(rig.loop('a').all('run.ended')).toHaveLength(1);
    await turn.answers();

    const resumed = rig.runs(['resume', 'a']);
    await rig.loop('a').journals('owner.changed', () => true, 2);
    await turn.writes('ok');
    await turn.prints('<promise>DONE</promise>\n');
    await turn.exits(0);
    exits(await resumed.ended, 0);
    expect(rig.turns).toBe(2);
    expect(rig.loop('a').state.outcome).toMatchObject({ type: 'done', verified: true });
  });

  it('ends a running check, which the next owner runs again', async () => {
    const gate = rig.gate();
    await unowned('--check', `echo x >>checked; read go <"${gate.path}"`);
    const owner = await background();
    await rig.appears('checked');
    expect(await leaves(owner)).toBe('owned\nleft\n');
    expect(rig.loop('a').all('check.finished')).toEqual([]);

    const next = await background();
    await rig.appears('checked', 2);
    gate.open();
    await rig.loop('a').journals('check.finished');
    const turn = await rig.nextTurn();
    expect(await leaves(next)).toBe('owned\nleft\n');
    await turn.exits(0);
    await nothingIsLeft();
  });

  it('keeps an agent running that ralph stop --now can end', async () => {
    await unowned();
    const owner = await background();
    const turn = await rig.nextTurn();
    await rig.loop('a').journals('run.started', () => true, 2);
    await leaves(owner);
    exits(await rig.does('stop', 'a', '--now'), 0);
    await turn.gone;
    expect(rig.loop('a').state.outcome).toMatchObject({ type: 'stopped' });
  });
});

describe('an owner in the background', () => {
  const keptFile = (): string => {
    const folder = join(rig.folder, 'state', 'ralph', 'kept');
    return join(folder, readdirSync(folder)[0] ?? '');
  };

  it('refuses a loop whose environment is not kept, and names the command that continues it', async () => {
    await unowned();
    rmSync(keptFile());
    const refused = await driver().ended;
    exits(refused, 2);
    expect(refused.stderr).toMatch(
      /^"a" cannot run in the background: the environment that it was started with is not in \S+; continue it with: ralph resume a\n$/,
    );
    expect(rig.loop('a').all('owner.changed')).toEqual([]);

    const resumed = rig.runs(['resume', 'a'], { env: { COLOUR: 'green' } });
    const turn = await rig.nextTurn();
    expect(turn.env['COLOUR']).toBe('green');
    expect(resumed.said).toContain(
      'using the environment of this shell: the one that "a" was started with is deleted when a loop ends',
    );
    expect(JSON.parse(readFileSync(keptFile(), 'utf8'))).toMatchObject({ env: { COLOUR: 'green' } });
    await turn.prints('<promise>DONE</promise>\n');
    await turn.exits(0);
    exits(await resumed.ended, 0);
  });

  it('gives the agent the kept environment and umask, not its own', async () => {
    const command = [process.execPath, rig.command, 'run', 'task', '--name', 'a', '--', ...rig.agent];
    const starter = rig.program(['/bin/sh', '-c', 'umask 027; exec "$@"', 'sh', ...command], {
      COLOUR: 'blue',
    });
    const first = await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    await starter.crashes();
    await first.exits(0);

    const owner = await background();
    const turn = await rig.nextTurn();
    expect(turn.env['COLOUR']).toBe('blue');
    await turn.writes('made');
    expect(statSync(rig.path('made')).mode & 0o777).toBe(0o640);
    await leaves(owner);
    await turn.exits(0);
    await nothingIsLeft();
  });
});
