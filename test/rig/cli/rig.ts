import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Gate } from './gate.ts';
import { RiggedDaemon } from './daemon.ts';
import { endLeftovers, leftovers, type Leftover } from './leftovers.ts';
import { isLoadedRunning } from './loaded-command.ts';
import { LoadedProgram } from './loaded-program.ts';
import { Mould } from '../mould.ts';
import { Program, type Ended, type Running } from './program.ts';
import { RecordedLoop } from './recorded-loop.ts';
import { LoopFiles } from './loop-files.ts';
import { RiggedTmux } from './tmux.ts';
import { meet, type Turn } from './turn.ts';
import { inTime, until } from './until.ts';

const COMMAND = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));
const FIXTURES = fileURLToPath(new URL('../../fixtures', import.meta.url));

/**
 * A repository, a home and a socket for one test, and the built command. Every process it starts has its marker in the
 * environment, so that `tearDown` can verify that none is left.
 */
export async function setUpRig(): Promise<Rig> {
  // The path of a socket must be short, and the temporary folder may have a long one.
  const folder = mkdtempSync(join(tmpdir().length > 30 ? '/tmp' : tmpdir(), 'ralph-'));
  for (const name of ['work', 'home', 'state']) mkdirSync(join(folder, name));
  const server = createServer();
  const rig = new Rig(folder, server);
  await new Promise<void>((resolve) => {
    server.listen(join(folder, 'socket'), resolve);
  });
  STARTED.fill(rig.workspace);
  return rig;
}

const GIT_ENV = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'rig',
  GIT_AUTHOR_EMAIL: 'rig@localhost',
  GIT_COMMITTER_NAME: 'rig',
  GIT_COMMITTER_EMAIL: 'rig@localhost',
};
/** A repository with an empty commit. */
const STARTED = new Mould((cwd) => {
  const env = { PATH: process.env['PATH'] ?? '', ...GIT_ENV };
  execFileSync('git', ['init', '--quiet'], { cwd, env });
  execFileSync('git', ['commit', '--quiet', '--allow-empty', '--message', 'start'], { cwd, env });
});

export class Rig {
  readonly folder: string;
  readonly workspace: string;
  readonly env: Readonly<Record<string, string>>;
  /** The command of the remote-controlled agent. */
  readonly agent: readonly string[] = [process.execPath, join(FIXTURES, 'remote-agent.mjs')];
  /** The built command. */
  readonly command: string = COMMAND;
  readonly daemon: RiggedDaemon;
  /** The tmux server with the windows of its loops. */
  readonly tmux: RiggedTmux;
  readonly #marker: string;
  readonly #server: Server;
  readonly #programs: Program[] = [];
  readonly #gates: Gate[] = [];
  readonly #arrived: Turn[] = [];
  readonly #expected: ((turn: Turn) => void)[] = [];
  #turns = 0;
  /** The last command inside the test's process. */
  #loaded: LoadedProgram | null = null;

  constructor(folder: string, server: Server) {
    const id = randomUUID();
    this.folder = folder;
    this.workspace = join(folder, 'work');
    this.daemon = new RiggedDaemon(join(folder, 'state', 'ralph'));
    this.tmux = new RiggedTmux(join(folder, 'state', 'ralph'));
    this.#marker = `RALPH_E2E=${id}`;
    this.#server = server;
    this.env = {
      PATH: process.env['PATH'] ?? '',
      HOME: join(folder, 'home'),
      XDG_STATE_HOME: join(folder, 'state'),
      // Most tests are not about consent to settings.
      RALPH_TRUST: '1',
      ...GIT_ENV,
      RALPH_E2E: id,
      RALPH_E2E_SOCKET: join(folder, 'socket'),
    };
    server.on('connection', (socket) => {
      meet(socket).then(
        (turn) => this.#welcome(turn),
        () => {},
      );
    });
  }

  /** Starts the built command. */
  ralph(args: readonly string[], options: RalphOptions = {}): Program {
    const { env = {}, measured = false, unread = false, cwd = this.workspace } = options;
    const measure = measured ? ['--import', join(FIXTURES, 'tells-peak-memory.mjs')] : [];
    const program = new Program([process.execPath, ...measure, COMMAND, ...args], {
      cwd,
      env: { ...this.env, ...env },
      peakFile: join(this.folder, `peak-${this.#programs.length}`),
      unread,
    });
    this.#programs.push(program);
    return program;
  }

  /** Starts any other program in the workspace. */
  program(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Program {
    const program = new Program(argv, {
      cwd: this.workspace,
      env: { ...this.env, ...env },
      peakFile: join(this.folder, `peak-${this.#programs.length}`),
    });
    this.#programs.push(program);
    return program;
  }

  /** Runs the built command inside the test's process, which takes a tenth of the time; as a process if another one runs there. */
  runs(args: readonly string[], options: Pick<RalphOptions, 'env' | 'cwd'> = {}): Running {
    if (isLoadedRunning()) return this.ralph(args, options);
    const { env, cwd = this.workspace } = options;
    this.#loaded = new LoadedProgram({ main: COMMAND, args, cwd, env: { ...this.env, ...env } });
    return this.#loaded;
  }

  /** The same to its end. */
  does(...args: readonly string[]): Promise<Ended> {
    return this.runs(args).ended;
  }

  /** A simple agent. */
  plain(script: string): readonly string[] {
    return ['/bin/sh', '-c', script];
  }

  /** One of the programs in `test/fixtures`. */
  fixture(name: string): string {
    return join(FIXTURES, name);
  }

  /** Waits for the next turn of the remote-controlled agent. */
  nextTurn(): Promise<Turn> {
    const ready = this.#arrived.shift();
    if (ready !== undefined) return Promise.resolve(ready);
    const next = new Promise<Turn>((resolve) => {
      this.#expected.push(resolve);
    });
    return inTime('a turn', next, () => this.#said());
  }

  /** Number of turns of the remote-controlled agent so far. */
  get turns(): number {
    return this.#turns;
  }

  loop(name: string): RecordedLoop {
    return new RecordedLoop(new LoopFiles(join(this.folder, 'state'), this.workspace, name));
  }

  /** The ids of the loops that were archived. */
  get archive(): readonly string[] {
    return readdirSync(join(this.folder, 'state', 'ralph', 'archive'));
  }

  git(...args: readonly string[]): string {
    return execFileSync('git', args, { cwd: this.workspace, env: this.env, encoding: 'utf8' });
  }

  path(name: string): string {
    return join(this.workspace, name);
  }

  write(name: string, text = ''): void {
    writeFileSync(this.path(name), text);
  }

  read(name: string): string {
    return readFileSync(this.path(name), 'utf8');
  }

  has(name: string): boolean {
    return existsSync(this.path(name));
  }

  /** The lines of a file in the workspace; none if there is no file. */
  lines(name: string): readonly string[] {
    return this.has(name)
      ? this.read(name)
          .split('\n')
          .filter((line) => line !== '')
      : [];
  }

  /** Waits until a file in the workspace has that many complete lines, and returns them. */
  appears(name: string, lines = 1): Promise<readonly string[]> {
    return until(
      `${lines} lines in ${name}`,
      () => (this.lines(name).length >= lines && this.read(name).endsWith('\n') ? this.lines(name) : null),
      { folder: this.workspace, seen: () => this.#said() },
    );
  }

  /** A gate for scripts, outside of the workspace. */
  gate(): Gate {
    const gate = new Gate(join(this.folder, `gate-${this.#gates.length}`));
    this.#gates.push(gate);
    return gate;
  }

  /** Processes of this rig that still run. */
  left(): readonly Leftover[] {
    return leftovers(this.#marker);
  }

  /** Kills all processes of this rig, as a crash of the machine does. */
  endsAll(): Promise<void> {
    return endLeftovers(this.#marker);
  }

  /** Stops and removes everything; fails if a process was left or a turn was unexpected. */
  async tearDown(): Promise<void> {
    const running = new Set(this.#programs.filter((program) => !program.isOver).map(({ pid }) => pid));
    const isUnended = this.#loaded?.isOver === false;
    const unended = await this.daemon.tearDown();
    const daemonLog = this.daemon.log;
    this.tmux.tearDown();
    const left = this.left();
    // A look at all processes takes time, and where none is left none can start another one.
    if (left.length > 0) await endLeftovers(this.#marker);
    this.#loaded?.abandon();
    await Promise.all(this.#programs.map((program) => program.ended));
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
    for (const gate of this.#gates) gate.close();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
    const strangers = left.map(({ pid, command }) => `${running.has(pid) ? 'ralph ' : ''}${pid} ${command}`);
    if (isUnended) throw new Error(`ralph is still running at the end of the test:\n${this.#loaded?.said}`);
    if (unended > 0) throw new Error(`the daemon still has ${unended} loops; its log:\n${daemonLog}`);
    if (strangers.length > 0) throw new Error(`left running:\n  ${strangers.join('\n  ')}`);
    if (this.#arrived.length > 0) throw new Error(`${this.#arrived.length} unexpected turns`);
  }

  /** What all commands have printed, for error messages. */
  #said(): string {
    return [...this.#programs, ...(this.#loaded === null ? [] : [this.#loaded])]
      .map(({ said }) => said)
      .join('\n');
  }

  #welcome(turn: Turn): void {
    this.#turns++;
    const next = this.#expected.shift();
    if (next === undefined) this.#arrived.push(turn);
    else next(turn);
  }
}

interface RalphOptions {
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether `peakMegabytes` is measured. */
  readonly measured?: boolean;
  /** Whether its stdout is not read until `readsOn`. */
  readonly unread?: boolean;
  readonly cwd?: string;
}
