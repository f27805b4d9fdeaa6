/**
 * A reboot, played: everything is killed at once, and the next `ralph` sees another boot id. Bubblewrap puts a file in the
 * place of the kernel's, for that command and the daemon that it starts.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lives } from '../rig/cli/leftovers.ts';
import { exits, type Ended } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import { until } from '../rig/cli/until.ts';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';

let rig: Rig;
let hasRebooted: boolean;
beforeEach(async () => {
  rig = await setUpRig();
  hasRebooted = false;
});
afterEach(() => rig.tearDown());

/** Runs `ralph`, after the reboot with the other boot id. */
async function ralph(...args: readonly string[]): Promise<Ended> {
  const file = join(rig.folder, 'boot-id');
  if (!existsSync(file)) writeFileSync(file, `${randomUUID()}\n`);
  const bwrap = ['bwrap', '--dev-bind', '/', '/', '--ro-bind', file, BOOT_ID];
  return rig.program([...(hasRebooted ? bwrap : []), process.execPath, rig.command, ...args]).ended;
}

/** Kills the daemon and every process of the rig, the daemon first: it must not notice how its agents end. */
async function reboot(): Promise<void> {
  await rig.daemon.crashes();
  await rig.endsAll();
  hasRebooted = true;
}

/** Lets a lock name this process as its owner, as if it had the pid and the start time that the owner had before the reboot. */
function reusesPidOf(lock: string, pid: number): void {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const [since = ''] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(19);
  const text = readFileSync(lock, 'utf8');
  writeFileSync(lock, text.replace(/"pid":\d+,"since":"\d+"/, `"pid":${pid},"since":"${since}"`));
  expect(readFileSync(lock, 'utf8')).toContain(`"pid":${pid},`);
}

describe('after a reboot', { tags: ['bwrap'] }, () => {
  it('S4.32 S4.42 the next command starts a daemon that continues the loops in the background, one agent each', async () => {
    const check = ['--check', 'test -f ok'];
    exits(await ralph('run', 'task', '--name', 'a', ...check, '--detach', '--', ...rig.agent), 0);
    const first = await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    await reboot();
    await first.gone;
    const stranger = rig.program(['sleep', '300']);
    reusesPidOf(join(rig.folder, 'state/ralph/daemon/lock'), stranger.pid);
    reusesPidOf(rig.loop('a').file('lock'), stranger.pid);

    // Any command does; this one only looks.
    exits(await ralph('ls'), 0);
    const second = await rig.nextTurn();
    const status = await ralph('status', 'a');
    exits(status, 0);
    expect(status.stdout).toMatch(/^Status: running/m);
    expect(rig.loop('a').state.control.paused).toBe(false);
    expect(lives(stranger.pid)).toBe(true);
    stranger.signal('SIGKILL');

    await second.writes('ok');
    await second.prints('<promise>DONE</promise>\n');
    await second.exits(0);
    await rig.loop('a').journals('loop.ended');
    // The run that the reboot has cut off costs no iteration and is no failure.
    expect(rig.loop('a').all('run.ended')).toMatchObject([
      { run: '1.1', as: 'interrupted' },
      { run: '1.2', as: 'ok' },
    ]);
    expect(rig.loop('a').state.outcome).toMatchObject({ type: 'done', verified: true });
    expect(rig.turns).toBe(2);
    await until('the end of its entry', () => rig.daemon.enlisted.length === 0 || null);
  });
});
