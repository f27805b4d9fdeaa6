/** Files that are broken or in the way: they disturb one loop at most, and never the daemon. */
import { mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exits } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import { until } from '../rig/cli/until.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

const detached = async (name: string, ...rest: readonly string[]): Promise<void> =>
  exits(await rig.does('run', 'task', '--name', name, '--detach', '-m', '1', ...rest), 0);
const inState = (...path: readonly string[]): string => join(rig.folder, 'state', 'ralph', ...path);

describe('the daemon', () => {
  it('drives the other loops if an agent puts a link to itself in the place of .ralph', async () => {
    await detached('calm', '--', ...rig.agent);
    const turn = await rig.nextTurn();
    const pid = await rig.daemon.runs();
    const hostile = join(rig.folder, 'hostile');
    mkdirSync(hostile);
    const vandal = ['sh', '-c', 'rm -rf .ralph; ln -s .ralph .ralph'];
    // Only the preset of `ralph spawn` looks for edits in its files.
    const spawned = ['spawn', '--name', 'hostile', '--cwd', hostile, '-m', '1', '--no-tmux', 'task', '--'];
    exits(await rig.does(...spawned, ...vandal), 0);
    await until('its end', () => (/hostile \(.*\) ended: /.test(rig.daemon.log) ? true : null), {
      seen: () => rig.daemon.log,
    });
    expect(rig.daemon.enlisted).toHaveLength(1);
    await turn.exits(0);
    await rig.loop('calm').journals('loop.ended');
    expect(await rig.daemon.runs()).toBe(pid);
  });

  it('is found with its loop after the whole state folder was removed, also by the next daemon', async () => {
    await detached('a', '--', ...rig.agent);
    const turn = await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    const pid = await rig.daemon.runs();
    // In one step: a removal that is under way would also remove what is made again.
    renameSync(inState(), inState('..', 'gone'));
    rmSync(inState('..', 'gone'), { recursive: true });
    await until('the entry', () => (rig.daemon.enlisted.length === 1 ? true : null));
    expect(await rig.daemon.runs()).toBe(pid);
    await rig.loop('a').journals('run.started');
    exits(await rig.does('status', 'a'), 0);
    await rig.daemon.crashes();
    exits(await rig.does('ls'), 0);
    await rig.loop('a').journals('owner.changed', () => true, 2);
    await turn.exits(0);
    await rig.loop('a').journals('loop.ended');
  });

  it('leaves an entry alone that it cannot take away, and ends although it is there', async () => {
    mkdirSync(inState('background', 'odd-12345678'), { recursive: true });
    await detached('a', '--', ...rig.agent);
    await (await rig.nextTurn()).exits(0);
    await rig.loop('a').journals('loop.ended');
    await rig.daemon.ends();
    expect(rig.daemon.log.match(/cannot run odd-12345678: cannot read/g)).toHaveLength(1);
    expect(readdirSync(inState('background'))).toEqual(['odd-12345678']);
    rmdirSync(inState('background', 'odd-12345678'));
  });

  it('keeps its loops while its lock cannot be made again', async () => {
    await detached('a', '--', ...rig.agent);
    const turn = await rig.nextTurn();
    const pid = await rig.daemon.runs();
    unlinkSync(inState('daemon', 'lock'));
    symlinkSync(join(rig.folder, 'nowhere', 'lock'), inState('daemon', 'lock'));
    await until('its complaint', () =>
      rig.daemon.log.includes('cannot make its files again') ? true : null,
    );
    unlinkSync(inState('daemon', 'lock'));
    expect(await rig.daemon.runs()).toBe(pid);
    await turn.exits(0);
    await rig.loop('a').journals('loop.ended');
  });
});
