/** The wake lock: held while a loop goes on by itself, and gone with its owner, however that ends. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { busAt } from '../../src/bus/bus-file.ts';
import { post } from '../../src/bus/bus.ts';
import { draft } from '../../src/bus/message.ts';
import { lives } from '../rig/cli/leftovers.ts';
import { exits } from '../rig/cli/program.ts';
import type { Rig } from '../rig/cli/rig.ts';
import { until } from '../rig/cli/until.ts';
import { finishes, inAnHour, limited, says, setUpAgents, succeeds, type AgentRig } from './agent-rig.ts';

let agents: AgentRig;
let rig: Rig;
let log: string;
beforeEach(async () => {
  agents = await setUpAgents();
  ({ rig } = agents);
  // The fake `systemd-inhibit` in test/rig/bin records its starts and ends there.
  log = join(rig.folder, 'home', 'inhibited');
  mkdirSync(log);
});
afterEach(() => rig.tearDown());

/** The process ids of the wake locks that were taken, or that are over. */
const pids = (what: 'started' | 'ended'): readonly string[] =>
  existsSync(join(log, what)) ? readFileSync(join(log, what), 'utf8').split('\n').filter(Boolean) : [];

const reaches = (what: 'started' | 'ended', count: number) =>
  until(`${count} wake locks ${what}`, () => (pids(what).length >= count ? pids(what) : null), {
    folder: log,
  });

it('is held while the loop runs, by a process of its own session without the variables of the run', async () => {
  agents.installs('claude');
  const program = agents.starts('--agent', 'claude');
  const turn = await rig.nextTurn();
  const [pid = ''] = await reaches('started', 1);
  const [, , , group, session] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/\(.*\)/, '')
    .split(/ +/);
  expect({ group, session }).toEqual({ group: session, session: group });
  expect(group).not.toBe(String(turn.pid));
  expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toMatch(/RALPH|JRUN/);
  await finishes(turn);
  exits(await program.ended, 0);
  expect(await reaches('ended', 1)).toEqual([pid]);
  await until('the end of the helper', () => (lives(Number(pid)) ? null : true));
  expect(pids('started')).toHaveLength(1);
});

it('ends with an owner that is killed, and the next owner has another one', async () => {
  agents.installs('claude');
  const program = agents.starts('--agent', 'claude');
  const turn = await rig.nextTurn();
  await reaches('started', 1);
  await program.crashes();
  await reaches('ended', 1);
  const again = agents.ralph('resume', 'a');
  await reaches('started', 2);
  await finishes(turn);
  exits(await again.ended, 0);
  const [first, second] = await reaches('ended', 2);
  expect(first).not.toBe(second);
});

it('is one for all loops of the daemon', async () => {
  agents.installs('claude');
  for (const name of ['b', 'c'])
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    exits(await agents.ralph('run', 'x', '--name', name, '-d', '--agent', 'claude').ended, 0);
  const turns = [await rig.nextTurn(), await rig.nextTurn()];
  await reaches('started', 1);
  for (const turn of turns) {
    expect(pids('ended')).toEqual([]);
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await finishes(turn);
  }
  await Promise.all(['b', 'c'].map((name) => rig.loop(name).journals('loop.ended')));
  await reaches('ended', 1);
  expect(pids('started')).toHaveLength(1);
});

it('is held during a wait for a usage limit, and not while only a person can let the loop go on', async () => {
  agents.installs('claude');
  const program = agents.starts('--agent', 'claude');
  const turn = await rig.nextTurn();
  await turn.prints(limited(inAnHour()));
  await turn.exits(1);
  await program.says('usage limit reached, waiting until');
  expect(pids('ended')).toEqual([]);
  exits(await rig.does('resume', 'a', '--now'), 0);
  const next = await rig.nextTurn();
  const question = draft({ type: 'QUESTION', projectId: 'p', body: 'Which?', meta: {} });
  await post(busAt(next.env['MESSAGE_BUS'] ?? ''), question);
  await next.prints(says('asked') + succeeds({ result: 'asked' }));
  await next.exits(0);
  await reaches('ended', 1);
  exits(await rig.does('answer', 'a', 'this'), 0);
  const last = await rig.nextTurn();
  await reaches('started', 2);
  await finishes(last);
  exits(await program.ended, 0);
});

it('is not taken with --no-keep-awake', async () => {
  exits(await agents.run('--no-keep-awake', '-m', '1', '--', 'true').ended, 1);
  expect(pids('started')).toEqual([]);
});

it.each([
  ['is refused', 'echo "Failed to inhibit: Access denied" >&2; exit 1', 'Failed to inhibit: Access denied'],
  ['ends at once', 'exit 3', 'it ended with exit code 3'],
])('is mentioned once if it %s, and the loop runs', async (_, script, why) => {
  agents.program('systemd-inhibit', script);
  const agent = ['--', ...rig.plain('sleep 0.5; echo "<promise>DONE</promise>"')];
  const first = await agents.run(...agent).ended;
  exits(first, 0);
  const line = `the machine may go to sleep while a loop runs: systemd-inhibit: ${why}`;
  expect(first.stderr.split(line)).toHaveLength(2);
  const second = await agents.ralph('run', 'x', '--name', 'b', ...agent).ended;
  exits(second, 0);
  expect(second.stderr).not.toContain('sleep while');
});
