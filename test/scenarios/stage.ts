/**
 * Where a scenario is played: a throwaway repository and home, an agent that follows a plan, and the built command.
 *
 * 1. Nothing outside of the stage's own folder is touched.
 * 2. Nobody waits for a while: a test waits for a line, a file or an end.
 * 3. When a test is over, nothing that it started is: whatever carries its marker fails it.
 */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
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
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { Ralph, type Ended } from './ralph.ts';

/** A stage for the test that is running; what it leaves running fails it. */
export function openStage(): Stage {
  const stage = new Stage();
  onTestFinished(() => stage.close());
  return stage;
}

const MARKER = 'RALPH_SCENARIO';

export class Stage {
  readonly #folder: string = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-scenario-')));
  readonly #id: string = randomUUID();
  readonly #started: Ralph[] = [];
  readonly workspace: string = join(this.#folder, 'workspace');
  readonly agent: string = join(this.#folder, 'bin', 'fake-agent');
  /** What the agent and the outside world share: plans, and whatever a test puts there. */
  readonly plan: string = join(this.#folder, 'plan');
  readonly env: Record<string, string>;

  constructor() {
    for (const folder of ['workspace', 'plan/calls', 'home', 'state', 'bin']) {
      mkdirSync(join(this.#folder, folder), { recursive: true });
    }
    copyFileSync(new URL('fake-agent.sh', import.meta.url), this.agent);
    this.env = {
      PATH: process.env['PATH'] ?? '',
      HOME: join(this.#folder, 'home'),
      XDG_STATE_HOME: join(this.#folder, 'state'),
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_SYSTEM: '/dev/null',
      FAKE_PLAN: this.plan,
      [MARKER]: this.#id,
    };
    this.git('init', '--quiet');
    this.write('README.md', 'A repository to work in.\n');
    this.git('add', '.');
    this.git('-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '--quiet', '--message', 'begin');
  }

  /** What the agent does when it is called for the `call`-th time, or whenever nothing else is said. */
  plans(call: number | 'default', script: string): void {
    writeFileSync(join(this.plan, `${call}.sh`), `${script}\n`);
  }

  /** What stands in a settings file: `settings.json`, or the local one. */
  settings(content: unknown, file: 'settings.json' | 'settings.local.json' = 'settings.json'): void {
    this.write(`.ralph/${file}`, typeof content === 'string' ? content : JSON.stringify(content, null, 2));
  }

  /** The planned agent under another name, on the PATH; tells its path. */
  installs(name: string): string {
    const path = join(dirname(this.agent), name);
    copyFileSync(this.agent, path);
    this.env['PATH'] = [...new Set([dirname(path), ...(this.env['PATH'] ?? '').split(':')])].join(':');
    return path;
  }

  /** `ralph run` of a loop named `it` with the planned agent, to its end. */
  run(...args: readonly string[]): Promise<Ended> {
    return this.starts(...args).ended;
  }

  /** The same, for a test that has something to do meanwhile. */
  starts(...args: readonly string[]): Ralph {
    return this.ralph('run', '--name', 'it', ...args, '--', this.agent);
  }

  /** The command with these arguments, in the workspace. */
  ralph(...args: readonly string[]): Ralph {
    return this.#track(new Ralph([process.execPath, MAIN, ...args], this.workspace, this.env));
  }

  /** A line for the shell in which `$RALPH` is the command. */
  shell(line: string, env: Readonly<Record<string, string>> = {}): Ralph {
    const given = { ...this.env, ...env, RALPH: `${process.execPath} ${MAIN}` };
    return this.#track(new Ralph(['/bin/sh', '-c', line], this.workspace, given));
  }

  /** How often the agent was called. */
  get calls(): number {
    return readdirSync(join(this.plan, 'calls')).length;
  }

  /** A file of the agent's `call`-th call: `stdin`, `argv`, `cwd`, `env`, or one that its plan has written. */
  given(call: number, file: string): string {
    return readFileSync(this.#ofCall(call, file), 'utf8');
  }

  has(call: number, file: string): boolean {
    return existsSync(this.#ofCall(call, file));
  }

  /** When a file of a call was written. */
  moment(call: number, file: string): number {
    return statSync(this.#ofCall(call, file)).mtimeMs;
  }

  called(call: number, file = 'stdin'): Promise<void> {
    return this.appears(this.#ofCall(call, file));
  }

  /** Lets go an agent or a check that does `waitFor(name)`. */
  release(name = 'go'): void {
    writeFileSync(join(this.plan, name), '');
  }

  /** Whether a plan or a check has left a file beside the plan. */
  left(name: string): boolean {
    return existsSync(join(this.plan, name));
  }

  /** A file of the workspace. */
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

  /** A file of the loop named `it`. */
  file(name: string): string {
    return this.path(`.ralph/loops/it/${name}`);
  }

  /** What `state.json` says. */
  get state(): Record<string, unknown> {
    const value: unknown = JSON.parse(readFileSync(this.file('state.json'), 'utf8'));
    return isRecord(value) ? value : {};
  }

  get log(): string {
    return readFileSync(this.file('iterations.log'), 'utf8');
  }

  /** The events of the journal. */
  get journal(): readonly JournalEvent[] {
    const lines = readFileSync(this.file('journal.jsonl'), 'utf8').split('\n').slice(1, -1);
    return lines.map((line) => {
      const value: unknown = JSON.parse(line);
      if (!isRecord(value) || !isRecord(value['event'])) throw new Error(`no event: ${line}`);
      return { ...value['event'], type: String(value['event']['type']), at: Number(value['event']['at']) };
    });
  }

  /** The loops that have a folder here. */
  get loops(): readonly string[] {
    const folder = this.path('.ralph/loops');
    return existsSync(folder) ? readdirSync(folder) : [];
  }

  appears(path: string): Promise<void> {
    return until(path, () => existsSync(path));
  }

  /** Waits until the journal has that many events of a type. */
  journaled(type: string, count = 1): Promise<void> {
    const has = (): boolean => this.journal.filter((event) => event.type === type).length >= count;
    return until(`${count} × ${type}`, () => existsSync(this.file('journal.jsonl')) && has());
  }

  git(...args: readonly string[]): string {
    return execFileSync('git', args, { cwd: this.workspace, env: this.env, encoding: 'utf8' });
  }

  /** The processes that this test has started and that are still there. */
  get running(): readonly number[] {
    return marked(`${MARKER}=${this.#id}`);
  }

  /** As if the machine had lost everything that this test has started. */
  killAll(): void {
    for (let pids = this.running; pids.length > 0; pids = this.running) for (const pid of pids) kill(pid);
  }

  close(): void {
    const unfinished = this.#started.filter(({ hasEnded }) => !hasEnded);
    const left = unfinished.length > 0 ? [] : this.running.map((pid) => `${pid} ${commandOf(pid)}`);
    for (const ralph of unfinished) ralph.signal('SIGKILL');
    this.killAll();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
    if (unfinished.length > 0) throw new Error('the test has ended and ralph has not');
    if (left.length > 0) throw new Error(`left running: ${left.join('; ')}`);
  }

  #track(ralph: Ralph): Ralph {
    this.#started.push(ralph);
    return ralph;
  }

  #ofCall(call: number, file: string): string {
    return join(this.plan, 'calls', String(call), file);
  }
}

/** In a plan or a check: waits until the test says so. */
export function waitFor(name = 'go'): string {
  return `while [ ! -e "$FAKE_PLAN/${name}" ]; do sleep 0.01; done`;
}

export interface JournalEvent extends Record<string, unknown> {
  readonly type: string;
  readonly at: number;
}

/** Looks again and again: a watch may miss what happens while it begins. */
async function until(what: string, isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!isSo()) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(5);
  }
}

const MAIN = new URL('../../dist/cli/main.js', import.meta.url).pathname;
const PATIENCE_MS = 20_000;

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Zombies have no environment, and so do not count; without `/proc` nobody can be asked. */
function marked(marker: string): readonly number[] {
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

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It was quicker.
  }
}
