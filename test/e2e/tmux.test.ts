/**
 * Loops with a tmux window: windows, `ralph attach`, and interactive agents. Every test has its own tmux server.
 *
 * @module-tag tmux
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exits } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import { Terminals } from '../rig/cli/terminal.ts';
import type { RiggedTmux } from '../rig/cli/tmux.ts';
import { until } from '../rig/cli/until.ts';

let rig: Rig;
let tmux: RiggedTmux;
let terminals: Terminals;
beforeAll(() => {
  terminals = new Terminals();
});
afterAll(() => terminals.close());
beforeEach(async () => {
  rig = await setUpRig();
  ({ tmux } = rig);
});
afterEach(() => rig.tearDown());

const spawns = (name: string, ...args: readonly string[]) => rig.does('spawn', '--name', name, ...args);
const interactive = (...args: readonly string[]) => [
  '--',
  process.execPath,
  rig.fixture('reads-its-terminal.mjs'),
  ...args,
];
const inTerminal = (...args: readonly string[]) =>
  terminals.open(['env', '-u', 'TMUX_PANE', process.execPath, rig.command, ...args], {
    cwd: rig.workspace,
    env: rig.env,
    size: [100, 30],
  });

const serverEnds = () =>
  until('the end of the server', () => (tmux.ask('list-sessions') === '' ? true : null), {
    seen: () => tmux.ask('list-windows', '-a'),
  });

describe('the window of a loop', () => {
  it('S4.4 S4.47 S4.63 S4.71 S4.81 S4.82 S4.91 S4.94 S4.95 shows the loop, can be attached to and left, and is gone after a kill (T118)', async () => {
    const own = join(tmpdir(), `own-${tmux.socket}`);
    spawnSync('tmux', ['-S', own, '-f', '/dev/null', 'new-session', '-d', '-s', 'agent', 'sleep 60']);
    const ofUser = () => spawnSync('tmux', ['-S', own, 'list-windows', '-a'], { encoding: 'utf8' }).stdout;
    const before = ofUser();

    for (const name of ['agent-2', 'agent']) {
      // oxlint-disable-next-line no-await-in-loop -- one turn after the other
      const spawned = await spawns(name, 'task', '-m', '5', '--tmux', '--ready-wait', '--', ...rig.agent);
      exits(spawned, 0);
      expect(spawned.stdout).toBe(`spawned ${name} (tmux: ralph:${name}) [ralph mode: iteration 1/5]\n`);
      // oxlint-disable-next-line no-await-in-loop -- as above
      const turn = await rig.nextTurn();
      // oxlint-disable-next-line no-await-in-loop -- as above
      await turn.prints(`hello of ${name}\n`);
      // oxlint-disable-next-line no-await-in-loop -- as above
      await tmux.shows(name, `hello of ${name}`);
    }
    expect(tmux.screen('agent')).toContain('[ralph] agent: starting iteration 1/5');
    const listed = await rig.does('ls', '--format', 'table');
    expect(listed.stdout).toMatch(/^agent +running +ralph:agent +\d+s/m);
    expect((await rig.does('status', 'agent')).stdout).toContain('\nWindow: ralph:agent\n');
    const server = Number(tmux.ask('display-message', '-p', '#{pid}'));
    expect(readFileSync(`/proc/${server}/environ`, 'utf8')).not.toMatch(/RALPH_|XDG_|TMUX/);

    const first = inTerminal('attach', 'agent');
    await first.shows('hello of agent');
    const second = inTerminal('attach', 'agent-2');
    await second.shows('hello of agent-2');
    expect(first.screen).not.toContain('hello of agent-2');
    first.presses('C-b', 'd');
    expect(await first.ends()).toEqual({ code: 0, terminal: 'as before' });
    expect(rig.loop('agent').state.outcome).toBeNull();

    exits(await rig.does('kill', 'agent'), 0);
    expect(tmux.windows).toEqual(['agent-2']);
    await second.shows('hello of agent-2');
    exits(await rig.does('kill', 'agent-2'), 0);
    await second.ends();
    await serverEnds();

    const ended = await rig.does('attach', 'agent');
    exits(ended, 1);
    expect(ended.stderr).toContain('loop agent has ended; what its agent did: ralph logs agent');
    expect(ofUser()).toBe(before);
    spawnSync('tmux', ['-S', own, 'kill-server']);
    rmSync(own, { force: true });
  });

  it('S4.88 is refused in a tmux server of the user, which stays as it is', async () => {
    tmux.ask('-f', '/dev/null', 'new-session', '-d', '-s', 'mine', 'sleep 60');
    for (const named of [[], ['--tmux-socket', tmux.socket]]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other keeps the machine free
      const refused = await spawns('it', 'task', '-m', '1', ...named, '--', 'true');
      exits(refused, 1);
      expect(refused.stderr).toContain(
        `ralph: error: failed to create tmux window: the tmux server "${tmux.socket}" was not`,
      );
    }
    expect(tmux.ask('list-windows', '-a', '-F', '#{session_name}')).toBe('mine\n');
  });

  it('comes back with the next daemon, and a loop without one is followed in the terminal', async () => {
    exits(await spawns('it', 'task', '-m', '1', '--', ...rig.agent), 0);
    const turn = await rig.nextTurn();
    await turn.prints('hello\n');
    await tmux.shows('it', 'hello');
    tmux.ask('kill-server');
    await rig.daemon.crashes();
    exits(await rig.does('ls'), 0);
    await tmux.shows('it', 'hello');
    await turn.exits(0);
    await until('the end of the window', () => (tmux.windows.length === 0 ? true : null));
    expect(rig.loop('it').state.outcome).toMatchObject({ type: 'iterations-exhausted' });

    const args = ['--name', 'bare', 'task', '-m', '1', '--no-tmux', '--wait', '--', ...rig.agent];
    const waiting = inTerminal('spawn', ...args);
    const next = await rig.nextTurn();
    await next.prints('hello again\n');
    await waiting.shows('last activity');
    waiting.presses('C-c');
    expect(await waiting.ends()).toEqual({ code: 130, terminal: 'as before' });
    expect(waiting.screen).toContain('detached from bare, which continues in the background');
    expect(waiting.screen).not.toContain('last activity');
    const piped = await rig.does('attach', 'bare');
    exits(piped, 2);
    expect(piped.stderr).toContain('needs a terminal; to follow the output use: ralph logs bare -f');
    const terminal = inTerminal('attach', 'bare');
    await terminal.shows('hello again');
    terminal.presses('C-c');
    expect(await terminal.ends()).toEqual({ code: 0, terminal: 'as before' });
    expect(terminal.screen).toContain('detached from bare, which continues');
    await next.exits(0);
    await rig.loop('bare').journals('loop.ended');
  });

  it('is gone after the end of a loop that is shorter than its opening takes, and the server with the last one', async () => {
    const names = ['a', 'b', 'c', 'd'];
    await Promise.all(
      names.map(async (name) => exits(await spawns(name, 'task', '-m', '1', '--', 'true'), 0)),
    );
    await Promise.all(names.map((name) => rig.loop(name).journals('loop.ended')));
    await serverEnds();
    expect((await rig.does('logs', 'a')).code).toBe(0);
    exits(await rig.does('story', 'a'), 0);
  });

  it('is gone after its terminal was closed, if the loop has ended meanwhile', async () => {
    exits(await spawns('it', 'task', '-m', '1', '--', ...rig.agent), 0);
    const turn = await rig.nextTurn();
    await turn.prints('hello\n');
    const terminal = inTerminal('attach', 'it');
    await terminal.shows('hello');
    await turn.exits(0);
    await rig.loop('it').journals('loop.ended');
    await terminal.shows('story       ralph story it');
    // Not what tmux writes below it: tmux sometimes misses the exit code, and then writes nothing.
    const panes = (): string =>
      tmux.ask('list-panes', '-s', '-t', '=ralph', '-F', '#{pane_dead} #{pane_pid}');
    await until('the end of the viewer', () => (panes().startsWith('1 ') ? true : null), { seen: panes });
    await rig.daemon.ends();
    expect(tmux.windows).toEqual(['it']);
    terminal.goesAway();
    await serverEnds();
    // The command that has closed the window ends after it.
    await until('the end of ralph attach', () => (rig.left().length === 0 ? true : null));
  });

  it('is closed by the next loop, if its own loop has ended and it was left over', async () => {
    exits(await spawns('old', 'task', '-m', '1', '--', 'true'), 0);
    await rig.loop('old').journals('loop.ended');
    await serverEnds();
    exits(await spawns('new', 'task', '-m', '1', '--', ...rig.agent), 0);
    const turn = await rig.nextTurn();
    await tmux.shows('new', 'starting iteration');
    const id = basename(rig.loop('old').folder);
    tmux.ask('new-window', '-d', '-n', 'old', 'true');
    tmux.ask('set-option', '-w', '-t', '=ralph:=old', '@ralph-loop', id);
    exits(await spawns('next', 'task', '-m', '1', '--', ...rig.agent), 0);
    const other = await rig.nextTurn();
    await tmux.shows('next', 'starting iteration');
    expect(tmux.windows).toEqual(['new', 'next']);
    await turn.exits(0);
    await other.exits(0);
    await serverEnds();
  });

  it.each([
    [{}, true],
    [{ NO_COLOR: '1' }, false],
  ])('has colours unless the loop was started without: %j', async (env, isColoured) => {
    const argv = ['spawn', '--name', 'it', 'task', '-m', '1', '--', ...rig.agent];
    exits(await rig.runs(argv, { env: { ...rig.env, ...env } }).ended, 0);
    const turn = await rig.nextTurn();
    await tmux.shows('it', 'starting iteration');
    const painted = tmux.ask('capture-pane', '-e', '-p', '-t', '=ralph:=it');
    expect(painted.includes('\u001B[36m[ralph]')).toBe(isColoured);
    await turn.exits(0);
    await rig.loop('it').journals('loop.ended');
  });
});

describe('an interactive agent', () => {
  it('S4.73 S4.86 ends the loop when it prints the done pattern, not when its prompt does, also with another owner', async () => {
    rig.write('PROMPT.md', 'Do it.\nPrint ALL DONE at the end.\n');
    const started = await spawns(
      ...(['it', '-f', 'PROMPT.md', '-m', '3', '--interactive', '--done-pattern', 'ALL DONE'] as const),
      ...interactive('--to', rig.path('got'), '--echo', '--print', 'on it', '--later', 'ALL DONE'),
    );
    exits(started, 0);
    await until('the prompt', () => (rig.has('got') ? true : null));
    expect(rig.read('got')).toBe('Do it.\nPrint ALL DONE at the end.\n');
    await tmux.shows('it', 'on it');
    const { receipt } = await rig.loop('it').journals('run.started');
    await rig.daemon.crashes();
    exits(await rig.does('ls'), 0);
    await rig.loop('it').journals('owner.changed');
    expect(rig.loop('it').all('run.started')).toMatchObject([{ receipt }]);
    // A person presses Enter in the window.
    tmux.ask('send-keys', '-t', '=ralph:=it', 'Enter');
    const { outcome } = await rig.loop('it').journals('loop.ended');
    expect(outcome).toMatchObject({ type: 'done' });
    expect(rig.loop('it').all('run.ended')).toMatchObject([{ as: 'ok' }]);
  });

  it('S4.86 S4.46 is done when it shows the pattern, and is ended although it would stay (T106)', async () => {
    const started = await spawns(
      ...([
        'it',
        'Print ALL DONE at the end.',
        '-m',
        '3',
        '--interactive',
        '--done-pattern',
        'ALL DONE',
      ] as const),
      ...interactive('--echo', '--print', 'ALL DONE'),
    );
    exits(started, 0);
    const { outcome } = await rig.loop('it').journals('loop.ended');
    expect(outcome).toMatchObject({ type: 'done' });
    expect(rig.loop('it').all('run.started')).toHaveLength(1);
  });

  it('S4.44 S4.86 is done when a person sees the pattern in its terminal, whatever colours and carriage returns it has', async () => {
    const options = ['--preset', 'swarm', '-m', '1', '--interactive', '--done-pattern', '(?m)^ALL DONE$'];
    const shown = 'working 10%\r\u001B[KALL \u001B[1;32mDO\u001B[0mNE';
    const ended = await rig.does('run', 'task', '--name', 'it', ...options, ...interactive('--print', shown));
    exits(ended, 0);
    expect(rig.loop('it').state.outcome).toMatchObject({ type: 'done' });
  });

  it('has a window in the foreground too, which is closed when the loop ends', async () => {
    const options = ['--preset', 'swarm', '-m', '1', '--interactive', '--done-pattern', 'ALL DONE'];
    const agent = interactive('--print', 'ALL DONE');
    const ended = await rig.does('run', 'task', '--name', 'it', ...options, ...agent);
    exits(ended, 0);
    expect(ended.stderr).toContain("[ralph] it: the agent's terminal: ralph attach it\n");
    expect(tmux.windows).toEqual([]);
  });

  it('S4.17 S4.18 S4.19 S4.84 S4.85 S4.88 is restarted while its screen stays the same, however often it is painted, and not while a clock runs', async () => {
    const start = (name: string, ...how: readonly string[]) =>
      spawns(
        ...([name, 'task', '-m', '1', '--interactive', '--inactivity-timeout', '3'] as const),
        '--session',
        'night',
        '--ready-timeout',
        '1',
        ...interactive(...how),
      );
    const started = await start('clock', '--clock');
    exits(started, 0);
    expect(started.stdout).toBe('spawned clock (tmux: night:clock) [ralph mode: iteration 1/1]\n');
    exits(await start('still', '--repaint', '--late', '60000'), 0);
    const { outcome } = await rig.loop('still').journals('loop.ended');
    expect(outcome).toMatchObject({ type: 'iterations-exhausted' });
    expect(rig.loop('still').all('run.ended')).toMatchObject([
      { ending: { how: 'timed-out', which: 'inactivity' }, as: 'restart' },
    ]);
    expect(rig.daemon.log).toContain("warning: agent 'still' did not become ready within 1s");
    expect(tmux.ask('list-windows', '-t', '=night', '-F', '#{window_name}')).toMatch(/^clock$/m);
    expect(rig.loop('clock').all('run.ended')).toEqual([]);
    exits(await rig.does('kill', 'clock'), 0);
  });
});

describe('a headless agent of preset swarm', () => {
  it('S4.17 S4.18 S4.19 is restarted while its last lines stay the same, and not while a clock runs', async () => {
    const start = (name: string, script: string) =>
      spawns(name, 'task', '-m', '1', '--no-tmux', '--inactivity-timeout', '3', '--', ...rig.plain(script));
    exits(await start('clock', 'while :; do printf "\\r%s" "$(date +%s%N)"; sleep 0.2; done'), 0);
    exits(await start('still', 'while :; do printf "\\rthinking"; sleep 0.2; done'), 0);
    await rig.loop('still').journals('loop.ended');
    expect(rig.loop('still').all('run.ended')).toMatchObject([{ ending: { which: 'inactivity' } }]);
    expect(rig.loop('clock').all('run.ended')).toEqual([]);
    exits(await rig.does('kill', 'clock'), 0);
    expect(tmux.isThere).toBe(false);
  });
});
