/** Files that are broken or in the way: they disturb one loop at most, and never the daemon. */
import { mkdirSync } from 'node:fs';
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
    await until('its end', () => (rig.daemon.enlisted.length === 1 ? true : null), {
      seen: () => rig.daemon.log,
    });
    expect(rig.daemon.log).toMatch(/hostile \(.*\) ended: /);
    await turn.exits(0);
    await rig.loop('calm').journals('loop.ended');
    expect(await rig.daemon.runs()).toBe(pid);
  });
});
