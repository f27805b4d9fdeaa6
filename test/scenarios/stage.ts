/**
 * The environment of one scenario: a temporary repository and home, a fake agent that follows a plan, and the built
 * command.
 *
 * 1. A test touches nothing outside of its stage's folder.
 * 2. A test does not sleep: it waits for a line, a file or an exit.
 * 3. A test fails if a process with its marker is still running when it ends.
 */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { RiggedDaemon } from '../rig/cli/daemon.ts';
import { kill } from '../rig/cli/leftovers.ts';
import { LoopFiles } from '../rig/cli/loop-files.ts';
import { isLoadedRunning } from '../rig/cli/loaded-command.ts';
import { RiggedTmux } from '../rig/cli/tmux.ts';
import { until } from '../rig/cli/until.ts';
import { Mould } from '../rig/mould.ts';
import { loaded, started, type Ended, type Place, type Ralph } from './ralph.ts';

/**
 * Opens a stage for the current test, and closes it when the test ends. Its loops have a process, which the test can send signals to
 * and kill. What continues, controls or shows a loop afterwards runs inside the test's own process.
 */
export function openStage(options: StageOptions = {}): Stage {
  const stage = new Stage(options);
  onTestFinished(() => stage.close());
  return stage;
}

/**
 * Opens a stage that runs the built command inside the test's own process, which takes a tenth of the time: for tests that neither
 * send signals to the command nor kill it. A command that starts while another one runs has a process of its own.
 */
export function openLoadedStage(options: StageOptions = {}): Stage {
  return openStage({ ...options, isLoaded: true });
}

/** `openStage` or `openLoadedStage`. */
export type OpenStage = (options?: StageOptions) => Stage;

export interface StageOptions {
  /** Whether every settings file is trusted, as most tests want; without it Ralph asks as it does for a user. */
  readonly trust?: boolean;
  readonly branch?: 'master' | 'main';
  readonly isLoaded?: boolean;
  /** Where its folder is made. */
  readonly parent?: string;
}

/** Commands for a loop that there is already; `diff` leaves its output to git. */
const AFTERWARDS: ReadonlySet<string> = new Set(
  'resume ls status story report logs rm stop pause tell answer set rewind'.split(' '),
);
const MARKER = 'RALPH_SCENARIO';
const ON_MASTER = new Mould((folder) => begin(folder, 'master'));
const ON_MAIN = new Mould((folder) => begin(folder, 'main'));

/** A repository with one commit. */
function begin(cwd: string, branch: string): void {
  const env = {
    PATH: process.env['PATH'] ?? '',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_SYSTEM: '/dev/null',
  };
  const git = (...args: readonly string[]): unknown => execFileSync('git', args, { cwd, env });
  git('init', '--quiet', `--initial-branch=${branch}`);
  writeFileSync(join(cwd, 'README.md'), 'A repository to work in.\n');
  git('add', '.');
  git('-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '--quiet', '--message', 'begin');
}

export class Stage {
  readonly #folder: string;
  readonly #id: string = randomUUID();
  readonly #started: Ralph[] = [];
  readonly workspace: string;
  readonly agent: string;
  /** The folder that the test shares with the agent: the plans, and files of the test. */
  readonly plan: string;
  readonly env: Record<string, string>;
  /** The built command. */
  readonly main: string = MAIN;
  readonly #isLoaded: boolean;

  constructor(options: StageOptions = {}) {
    const { trust = true, branch = 'master', isLoaded = false, parent = tmpdir() } = options;
    this.#isLoaded = isLoaded;
    this.#folder = realpathSync(mkdtempSync(join(parent, 'ralph-scenario-')));
    this.workspace = join(this.#folder, 'workspace');
    this.agent = join(this.#folder, 'bin', 'fake-agent');
    this.plan = join(this.#folder, 'plan');
    for (const folder of ['workspace', 'plan/calls', 'home', 'state', 'bin']) {
      mkdirSync(join(this.#folder, folder), { recursive: true });
    }
    copyFileSync(new URL('fake-agent.sh', import.meta.url), this.agent);
    this.env = {
      PATH: process.env['PATH'] ?? '',
      HOME: join(this.#folder, 'home'),
      XDG_STATE_HOME: join(this.#folder, 'state'),
      ...(trust ? { RALPH_TRUST: '1' } : {}),
      // Not /dev/null: `git config --global` of an agent would replace the device where the tests run as root.
      GIT_CONFIG_GLOBAL: join(this.#folder, 'gitconfig'),
      GIT_CONFIG_SYSTEM: '/dev/null',
      FAKE_PLAN: this.plan,
      [MARKER]: this.#id,
    };
    (branch === 'main' ? ON_MAIN : ON_MASTER).fill(this.workspace);
  }

  /** Sets the script of the agent's `call`-th call, or of all calls without their own script. */
  plans(call: number | 'default', script: string): void {
    writeFileSync(join(this.plan, `${call}.sh`), `${script}\n`);
  }

  /** Writes a settings file. */
  settings(content: unknown, file: 'settings.json' | 'settings.local.json' = 'settings.json'): void {
    this.write(`.ralph/${file}`, typeof content === 'string' ? content : JSON.stringify(content, null, 2));
  }

  /** Puts the fake agent on the PATH under another name, and returns its path. */
  installs(name: string): string {
    const path = join(dirname(this.agent), name);
    copyFileSync(this.agent, path);
    this.env['PATH'] = [...new Set([dirname(path), ...(this.env['PATH'] ?? '').split(':')])].join(':');
    return path;
  }

  /** Runs a loop named `it` with the fake agent to its end. */
  run(...args: readonly string[]): Promise<Ended> {
    return this.starts(...args).ended;
  }

  /** Starts a loop named `it` with the fake agent. */
  starts(...args: readonly string[]): Ralph {
    return this.ralph('run', '--name', 'it', ...args, '--', this.agent);
  }

  /** Runs `ralph` with these arguments in the workspace. */
  ralph(...args: readonly string[]): Ralph {
    const canLoad = !isLoadedRunning() && (this.#isLoaded || AFTERWARDS.has(args[0] ?? ''));
    return canLoad ? this.#track(loaded(MAIN, args, this.#place)) : this.process(...args);
  }

  /** The same, always as a process. */
  process(...args: readonly string[]): Ralph {
    return this.#track(started([process.execPath, MAIN, ...args], this.#place));
  }

  /** Starts a shell line in the workspace, with the command in `$RALPH`. */
  shell(line: string, env: Readonly<Record<string, string>> = {}): Ralph {
    const given = { ...this.env, ...env, RALPH: `${process.execPath} ${MAIN}` };
    return this.#track(started(['/bin/sh', '-c', line], { cwd: this.workspace, env: given }));
  }

  /** The number of agent calls so far. */
  get calls(): number {
    return readdirSync(join(this.plan, 'calls')).length;
  }

  /** Reads a file of the agent's `call`-th call: `stdin`, `argv`, `last`, `cwd`, `env`, or one that its script wrote. */
  given(call: number, file: string): string {
    return readFileSync(this.#ofCall(call, file), 'utf8');
  }

  has(call: number, file: string): boolean {
    return existsSync(this.#ofCall(call, file));
  }

  /** The modification time of a file of a call. */
  modifiedAt(call: number, file: string): number {
    return statSync(this.#ofCall(call, file)).mtimeMs;
  }

  waitForCall(call: number, file = 'stdin'): Promise<void> {
    return this.waitForFile(this.#ofCall(call, file));
  }

  /** Releases an agent or a check that runs `waitFor(name)`. */
  release(name = 'go'): void {
    writeFileSync(join(this.plan, name), '');
  }

  /** Whether a script or a check has written a file into the plan folder. */
  hasPlanFile(name: string): boolean {
    return existsSync(join(this.plan, name));
  }

  /** The contents of the files in the plan folder whose names match. */
  planFiles(name: RegExp): readonly string[] {
    return readdirSync(this.plan)
      .filter((file) => name.test(file))
      .map((file) => readFileSync(join(this.plan, file), 'utf8'));
  }

  /** Waits until something is true of this stage. */
  async until(what: string, isTrue: () => boolean): Promise<void> {
    await until(what, () => isTrue() || null, { everyMs: 5 });
  }

  /** The path of a file in the workspace. */
  path(file: string): string {
    return join(this.workspace, file);
  }

  read(file: string): string {
    return readFileSync(this.path(file), 'utf8');
  }

  write(file: string, content: string): void {
    mkdirSync(dirname(this.path(file)), { recursive: true });
    writeFileSync(this.path(file), content);
  }

  /** The path of a file of the loop `it`. */
  file(name: string): string {
    return this.files('it').path(name);
  }

  /** Where the files of a loop are. */
  files(name: string): LoopFiles {
    return new LoopFiles(join(this.#folder, 'state'), this.workspace, name);
  }

  /** The states of the loops that were archived. */
  get archive(): readonly string[] {
    const folder = join(this.#folder, 'state', 'ralph', 'archive');
    return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
  }

  /** The content of `state.json`. */
  get state(): Record<string, unknown> {
    const value: unknown = JSON.parse(readFileSync(this.file('state.json'), 'utf8'));
    return isRecord(value) ? value : {};
  }

  get log(): string {
    return readFileSync(this.file('iterations.log'), 'utf8');
  }

  /** The events of the journal. */
  get journal(): readonly JournalEvent[] {
    return this.journalOf('it');
  }

  journalOf(name: string): readonly JournalEvent[] {
    const lines = readFileSync(this.files(name).path('journal.jsonl'), 'utf8').split('\n').slice(1, -1);
    return lines.map((line) => {
      const value: unknown = JSON.parse(line);
      if (!isRecord(value) || !isRecord(value['event'])) throw new Error(`no event: ${line}`);
      return { ...value['event'], type: String(value['event']['type']), at: Number(value['event']['at']) };
    });
  }

  /** The names of all loops of the workspace. */
  get loops(): readonly string[] {
    const folder = this.path('.ralph/loops');
    return existsSync(folder) ? readdirSync(folder) : [];
  }

  waitForFile(path: string): Promise<void> {
    return this.until(path, () => existsSync(path));
  }

  /** Waits until the journal has `count` events of a type. */
  waitForEvents(type: string, count = 1): Promise<void> {
    let known = -1;
    return this.until(`${count} × ${type}`, () => {
      // Parsing it takes time: a waiting test must not slow down what it waits for.
      const size = statSync(this.file('journal.jsonl'), { throwIfNoEntry: false })?.size ?? -1;
      if (size === known) return false;
      known = size;
      return size >= 0 && this.journal.filter((event) => event.type === type).length >= count;
    });
  }

  /** Gives the repository a name and an address to commit with. */
  identifies(): void {
    appendFileSync(this.path('.git/config'), '[user]\n\tname = Some Body\n\temail = some@body\n');
  }

  git(...args: readonly string[]): string {
    return execFileSync('git', args, { cwd: this.workspace, env: this.env, encoding: 'utf8' });
  }

  /** The processes of this test that are still running. */
  get running(): readonly number[] {
    return processesWith(`${MARKER}=${this.#id}`);
  }

  /** Kills all processes of this test, as a crash of the machine would. */
  killAll(): void {
    const deadline = performance.now() + 20_000;
    for (let pids = this.running; pids.length > 0; pids = this.running) {
      for (const pid of pids) kill(pid);
      if (performance.now() > deadline) throw new Error(`cannot kill ${pids.map(commandOf).join('; ')}`);
    }
  }

  /** Starts a loop named `it` with the fake agent in the background. */
  spawns(...args: readonly string[]): Ralph {
    return this.ralph('spawn', '--name', 'it', '--no-tmux', ...args, '--', this.agent);
  }

  async close(): Promise<void> {
    const state = join(this.#folder, 'state', 'ralph');
    const unended = await new RiggedDaemon(state).tearDown();
    new RiggedTmux(state).tearDown();
    const unfinished = this.#started.filter(({ hasEnded }) => !hasEnded);
    const running = unfinished.length > 0 ? [] : this.running.map((pid) => [pid, commandOf(pid)] as const);
    // One without a command line has ended between the two looks.
    const left = running.flatMap(([pid, command]) => (command === '' ? [] : [`${pid} ${command}`]));
    for (const ralph of unfinished) ralph.tearDown();
    // A look at all processes takes time, and where none is left none can start another one.
    if (unfinished.length > 0 || left.length > 0) this.killAll();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
    if (unfinished.length > 0) throw new Error('ralph is still running at the end of the test');
    if (unended > 0) throw new Error(`the daemon still has ${unended} loops`);
    if (left.length > 0) throw new Error(`processes left running: ${left.join('; ')}`);
  }

  get #place(): Place {
    return { cwd: this.workspace, env: this.env };
  }

  #track(ralph: Ralph): Ralph {
    this.#started.push(ralph);
    return ralph;
  }

  #ofCall(call: number, file: string): string {
    return join(this.plan, 'calls', String(call), file);
  }
}

/** A shell line for scripts and checks that waits for `release(name)`. */
export function waitFor(name = 'go'): string {
  return `while [ ! -e "$FAKE_PLAN/${name}" ]; do sleep 0.03; done`;
}

export interface JournalEvent extends Record<string, unknown> {
  readonly type: string;
  readonly at: number;
}

const MAIN = new URL('../../dist/cli/main.js', import.meta.url).pathname;

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Processes with a marker in their environment. Zombies have none, and systems without `/proc` show none. */
function processesWith(marker: string): readonly number[] {
  if (!existsSync('/proc/self/environ')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => readQuietly(`/proc/${pid}/environ`).split('\0').includes(marker))
    .map(Number);
}

function commandOf(pid: number): string {
  return readQuietly(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
}

function readQuietly(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
