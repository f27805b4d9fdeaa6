/** Loops in the background: the daemon that owns them is found again, left and killed. */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exits } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import { seededRandom } from '../rig/seeded-random.ts';
import { until } from '../rig/cli/until.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

const detached = async (name: string, ...rest: readonly string[]): Promise<void> =>
  exits(await rig.does('run', 'task', '--name', name, '--detach', ...rest), 0);

describe('ralph run --detach', () => {
  it('returns once the daemon owns the loop, which ends without a process left', async () => {
    const started = await rig.does('run', 'task', '--name', 'a', '-d', '--', ...rig.agent);
    exits(started, 0);
    expect(started.stdout).toContain('started a in the background');
    const daemon = await rig.daemon.runs();
    const status = await rig.does('status', 'a');
    exits(status, 0);
    expect(status.stdout).toMatch(new RegExp(`^Status: running\n[^]*^Owner: process ${daemon}\n`, 'm'));
    const turn = await rig.nextTurn();
    expect(rig.loop('a').events.slice(0, 3)).toMatchObject([
      { type: 'loop.created', left: true },
      { type: 'start.recorded' },
      { type: 'owner.changed', owner: String(daemon) },
    ]);
    await turn.prints('<promise>DONE</promise>\n');
    await turn.exits(0);
    await rig.loop('a').journals('loop.ended');
    await rig.daemon.ends();
    expect(rig.daemon.log).toContain('has nothing to do, ended');
    expect(rig.daemon.enlisted).toEqual([]);
    expect(rig.left()).toEqual([]);
  });

  it('gives agents the environment of the command that started the loop, and not the one of the daemon', async () => {
    const print = rig.plain('echo "$SEEN $RALPH_E2E" >>seen');
    const start = (name: string, seen: string) =>
      rig.runs(['run', 'x', '--name', name, '-d', '-m', '1', '--', ...print], { env: { SEEN: seen } }).ended;
    exits(await start('a', 'first'), 0);
    exits(await start('b', 'second'), 0);
    const seen = await rig.appears('seen', 2);
    expect(seen.toSorted()).toEqual([`first ${rig.env['RALPH_E2E']}`, `second ${rig.env['RALPH_E2E']}`]);
    expect(readFileSync(`/proc/${await rig.daemon.runs()}/environ`, 'utf8')).not.toMatch(/SEEN|RALPH_E2E/);
    await Promise.all(['a', 'b'].map((name) => rig.loop(name).journals('loop.ended')));
  });

  it('prints the state of the loop with --json, and what the user should know on stderr', async () => {
    const started = await rig.does('run', 'x', '--name', 'a', '-d', '--json', '-m', '1', '--', 'true');
    exits(started, 0);
    expect(JSON.parse(started.stdout)).toMatchObject({ name: 'a', workspace: rig.workspace });
    await rig.loop('a').journals('loop.ended');
  });

  it('is refused with the same messages as in the foreground, and starts no daemon', async () => {
    const refused = await rig.does('run', 'x', '--name', 'a', '-d', '--', 'no-such-agent');
    exits(refused, 2);
    expect(refused.stderr).toContain('no-such-agent');
    expect(rig.daemon.pid).toBeNull();
  });
});

describe('ralph spawn', () => {
  it(
    'S4.31 S4.97 in 20 processes at once gives 20 loops and one daemon (T122)',
    { timeout: 60_000 },
    async () => {
      const names = Array.from({ length: 20 }, (_, index) => `w${index}`);
      const agent = rig.plain('echo x >>ready; until [ -e go ]; do sleep 0.1; done');
      const starts = names.map((name) =>
        rig.ralph(['spawn', 'x', '--name', name, '--no-tmux', '-m', '1', '--', ...agent]),
      );
      for (const end of await Promise.all(starts.map(({ ended }) => ended))) exits(end, 0);
      for (const name of names)
        expect(JSON.parse(rig.loop(name).read('lock'))).toMatchObject({ pid: rig.daemon.pid });
      const listed = await rig.does('ls', '--format', 'names', '--status', 'running');
      expect(listed.stdout.trimEnd().split('\n').toSorted()).toEqual(names.toSorted());
      await rig.appears('ready', 20);
      rig.write('go');
      await Promise.all(names.map((name) => rig.loop(name).journals('loop.ended')));
    },
  );
});

describe('a daemon', () => {
  it('that is killed leaves its agents running, and the next command starts one that adopts them', async () => {
    await detached('a', '-m', '1', '--', ...rig.agent);
    const turn = await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    await rig.daemon.crashes();
    exits(await rig.does('ls'), 0);
    await rig.daemon.runs();
    await rig.loop('a').journals('owner.changed', () => true, 2);
    await turn.exits(0);
    await rig.loop('a').journals('loop.ended');
    expect(rig.turns).toBe(1);
    expect(rig.loop('a').all('run.ended')).toMatchObject([{ ending: { how: 'exited', code: 0 } }]);
  });

  it('leaves its loops when it is stopped, and the journal says so', async () => {
    await detached('a', '-m', '1', '--', ...rig.agent);
    const turn = await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    const stopped = await rig.does('daemon', 'stop');
    exits(stopped, 0);
    expect(stopped.stdout).toContain('1 loop');
    expect(rig.daemon.pid).toBeNull();
    expect(rig.loop('a').events.at(-1)?.type).toBe('owner.left');
    const none = await rig.does('daemon', 'status');
    exits(none, 1);
    expect(none.stdout).toContain('no daemon runs');
    await turn.answers();

    // It starts a daemon, which may own the loop before its state is read: the exit code says who was faster.
    await rig.does('status', 'a');
    await rig.loop('a').journals('owner.changed', () => true, 2);
    exits(await rig.does('daemon', 'status'), 0);
    await turn.exits(0);
    await rig.loop('a').journals('loop.ended');
    const story = await rig.does('story', 'a');
    expect(story.stdout).toMatch(/process \d+ took the loop over/);
    expect(story.stdout).not.toContain('crashed');
  });

  it('S4.76 leaves a spawned loop running on SIGTERM, and the next one continues it', async () => {
    const args = ['--name', 'a', 'task', '-m', '1', '--no-tmux', '--', ...rig.agent];
    exits(await rig.does('spawn', ...args), 0);
    const turn = await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    process.kill(await rig.daemon.runs(), 'SIGTERM');
    await rig.loop('a').journals('owner.left');
    await rig.daemon.ends();
    expect(rig.loop('a').state.control.paused).toBe(false);
    await turn.answers();
    exits(await rig.does('ls'), 0);
    await rig.loop('a').journals('owner.changed', () => true, 2);
    await turn.exits(0);
    const { outcome } = await rig.loop('a').journals('loop.ended');
    expect(outcome).toMatchObject({ type: 'iterations-exhausted' });
  });

  it('makes its files again after they were removed, and is found again after it was killed', async () => {
    await detached('a', '-m', '1', '--', ...rig.agent);
    const turn = await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    const pid = await rig.daemon.runs();
    for (const name of ['background', 'daemon'])
      rmSync(join(rig.folder, 'state', 'ralph', name), { recursive: true });
    await until('the entry', () => (rig.daemon.enlisted.length === 1 ? true : null));
    expect(await rig.daemon.runs()).toBe(pid);
    await rig.daemon.crashes();
    exits(await rig.does('ls'), 0);
    await rig.loop('a').journals('owner.changed', () => true, 2);
    await turn.exits(0);
    await rig.loop('a').journals('loop.ended');
  });

  it('leaves its loops after an error that nothing catches', async () => {
    const fails = ['--import', rig.fixture('fails-on-signal.mjs')];
    const daemon = rig.program([process.execPath, ...fails, rig.command, 'daemon', 'run', '--stay']);
    await rig.daemon.runs();
    await detached('a', '-m', '1', '--', ...rig.agent);
    const turn = await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    process.kill(daemon.pid, 'SIGUSR2');
    exits(await daemon.ended, 3);
    expect(rig.daemon.log).toContain('internal error: Error: thrown by a test');
    expect(rig.loop('a').events.at(-1)?.type).toBe('owner.left');
    await turn.answers();
    exits(await rig.does('ls'), 0);
    await rig.loop('a').journals('owner.changed', () => true, 2);
    await turn.exits(0);
    await rig.loop('a').journals('loop.ended');
  });

  it.runIf(existsSync('/proc/self/status'))(
    'wakes once a second while its agents are silent and its loops wait',
    async () => {
      const silent = ['a', 'b'];
      const names = [...silent, 'waits'];
      await detached('waits', '--restart-delay', '1h', '--', ...rig.plain('true'));
      await Promise.all(silent.map((name) => detached(name, '--', ...rig.plain('exec sleep 600'))));
      await Promise.all(silent.map((name) => rig.loop(name).journals('run.started')));
      await rig.loop('waits').journals('run.ended');
      const daemon = await rig.daemon.runs();
      let known = 0;
      const wokeThen = (): number => {
        const before = known;
        known = wakeUps(daemon);
        return known - before;
      };
      const idle = (): number | null => {
        const woke = wokeThen();
        return woke <= 3 ? woke : null;
      };
      expect(await until('two idle seconds', idle, { everyMs: 2000 })).toBeGreaterThan(0);
      for (const end of await Promise.all(names.map((name) => rig.does('stop', name, '--now'))))
        exits(end, 0);
      await Promise.all(names.map((name) => rig.loop(name).journals('loop.ended')));
    },
  );

  it('forgets a paused loop, and a resume gives it back and returns', async () => {
    await detached('a', '-m', '2', '--', ...rig.agent);
    const turn = await rig.nextTurn();
    exits(await rig.does('pause', 'a'), 0);
    await turn.exits(0);
    await rig.daemon.ends();
    expect(rig.daemon.enlisted).toEqual([]);
    const resumed = await rig.does('resume', 'a');
    exits(resumed, 0);
    expect(resumed.stdout).toBe('resumed loop a\n');
    await (await rig.nextTurn()).exits(0);
    await rig.loop('a').journals('loop.ended');
    expect(
      rig
        .loop('a')
        .all('iteration.started')
        .map(({ iteration }) => iteration),
    ).toEqual([1, 2]);
  });

  it('takes a loop of the foreground over with resume --detach', async () => {
    const foreground = rig.ralph(['run', 'x', '--name', 'a', '-m', '1', '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    await foreground.crashes();
    exits(await rig.does('resume', 'a', '--detach'), 0);
    expect(JSON.parse(rig.loop('a').read('spec.json'))).toMatchObject({ place: 'background' });
    await turn.exits(0);
    await rig.loop('a').journals('loop.ended');
    expect(rig.turns).toBe(1);
  });

  it('controls a loop that waits for a daemon: the control waits for the new owner', async () => {
    await detached('a', '--', ...rig.agent);
    const turn = await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    await rig.daemon.crashes();
    const stopped = await rig.does('stop', 'a', '--now');
    exits(stopped, 0);
    expect(stopped.stdout).toContain('stopping a now');
    await rig.loop('a').journals('loop.ended', ({ outcome }) => outcome.type === 'stopped');
    await turn.gone;
  });

  it('logs and dismisses a loop that it cannot run, and drives the others', async () => {
    await detached('a', '-m', '1', '--', ...rig.agent);
    const first = await rig.nextTurn();
    await detached('b', '-m', '1', '--', ...rig.agent);
    const second = await rig.nextTurn();
    await rig.loop('b').journals('run.started');
    await rig.loop('a').journals('run.started');
    await rig.daemon.crashes();
    rmSync(join(rig.folder, 'state', 'ralph', 'kept', `${basename(rig.loop('a').folder)}.json`));
    exits(await rig.does('ls'), 0);
    await rig.loop('b').journals('owner.changed', () => true, 2);
    await until('the dismissal', () => (rig.daemon.enlisted.length === 1 ? true : null));
    expect(rig.daemon.log).toMatch(/cannot run a \(.*\): "a" cannot run in the background: the environment/);
    await second.exits(0);
    await rig.loop('b').journals('loop.ended');
    const status = await rig.does('status', 'a');
    exits(status, 1);
    expect(status.stdout).toMatch(/^Status: crashed\n/m);
    expect(status.stdout).toContain('"a" cannot run in the background: the environment');
    exits(await rig.does('stop', 'a', '--now'), 0);
    expect(readdirSync(join(rig.folder, 'state', 'ralph', 'background'))).toEqual([]);
    await first.gone;
  });
});

describe('a daemon that is killed 20 times while 10 loops run', () => {
  it('lets every iteration run exactly once', { timeout: 120_000 }, async () => {
    const seed = Number(process.env['RALPH_SEED'] ?? Date.now() % 1_000_000);
    // Without git, which would take most of the time.
    rmSync(rig.path('.git'), { recursive: true });
    const names = Array.from({ length: 10 }, (_, index) => `w${index}`);
    const agent = rig.plain(
      'echo "$RALPH_LOOP $RALPH_ITERATION" >>work; sleep 0.2; [ ! -e enough ] || : >"$RALPH_DONE_FILE"',
    );
    const starts = names.map((name) =>
      rig.does('run', 'x', '--name', name, '-d', '-m', '1000', '--', ...agent),
    );
    for (const end of await Promise.all(starts)) exits(end, 0);
    const random = seededRandom(seed);
    for (let kills = 0; kills < KILLS; kills++) {
      // oxlint-disable-next-line no-await-in-loop -- one life after the other
      await rig.daemon.runs();
      // oxlint-disable-next-line no-await-in-loop -- as above
      await new Promise((resolve) => setTimeout(resolve, random() * 300));
      // oxlint-disable-next-line no-await-in-loop -- as above
      await rig.daemon.crashes();
      // oxlint-disable-next-line no-await-in-loop -- as above
      exits(await rig.does('ls', '--format', 'names'), 0);
    }
    rig.write('enough');
    await until('the end of all loops', () => (rig.daemon.enlisted.length === 0 ? true : null));
    for (const name of names) {
      const worked = rig.lines('work').filter((line) => line.startsWith(`${name} `));
      const numbers = worked.map((_, index) => index + 1);
      expect(
        worked.map((line) => Number(line.split(' ')[1])),
        `RALPH_SEED=${seed}`,
      ).toEqual(numbers);
      expect(
        rig
          .loop(name)
          .all('iteration.started')
          .map(({ iteration }) => iteration),
      ).toEqual(numbers);
      expect(rig.loop(name).state.outcome).toMatchObject({ type: 'done' });
    }
    expect(rig.left()).toEqual([]);
  });
});

const KILLS = 20;

/** How often a process has waited for something. */
function wakeUps(pid: number): number {
  const [, count] =
    /^voluntary_ctxt_switches:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(count);
}
