/**
 * Ralph's own tmux server.
 *
 * 1. A server is used only if it has our mark, the server option `@ralph`. A server of the user that has the same socket is
 *    refused and never changed.
 * 2. It is started with a small environment and our own configuration. It carries no marker of a run, so no sweep ends it,
 *    and the user's hooks and options do not apply to it.
 * 3. Its socket depends on the state folder and not on TMUX_TMPDIR: every process of the user finds the same server.
 * 4. Every call has a timeout and passes its arguments without a shell.
 * 5. Objects are addressed by id (`@3`, `%5`). tmux would take `agent` for `agent-2` where there is no `agent`.
 */
import { join } from 'node:path';
import { PRIVATE_FILE, PRIVATE_FOLDER, makeFolders } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { exec } from '../process/exec.ts';
import { UserError } from '../user-error.ts';
import { configuration } from './configuration.ts';
import type { ServerPlace } from './place.ts';

/** tmux cannot be used; the message says why and what to do. */
export class TmuxError extends UserError {
  readonly why: 'missing' | 'too-old' | 'foreign' | 'failed';

  constructor(why: TmuxError['why'], message: string) {
    super(message);
    this.name = 'TmuxError';
    this.why = why;
  }
}

export class TmuxServer {
  readonly place: ServerPlace;
  #isUsable = false;

  constructor(place: ServerPlace) {
    this.place = place;
  }

  /** The command line of a tmux client of this server. */
  command(...args: readonly string[]): readonly [string, ...string[]] {
    // `-u`, because a client without a UTF-8 locale would get other characters in the place of some.
    return ['tmux', '-u', '-L', this.place.socket, ...args];
  }

  /** Runs commands in the server and returns what they print; null if the server does not run. Refuses a foreign server. */
  async ask(args: readonly string[], input?: Buffer): Promise<string | null> {
    if (!(await this.isRunning())) return null;
    return this.#run(args, input);
  }

  /** Runs commands that may start the server. */
  async startWith(args: readonly string[]): Promise<string> {
    await this.#requireTmux();
    await this.isRunning();
    const folder = join(this.place.state, 'tmux');
    const file = join(folder, `${this.place.socket}.conf`);
    makeFolders(folder, PRIVATE_FOLDER);
    replaceFile(file, configuration(process.env), { mode: PRIVATE_FILE });
    return this.#run(['-f', file, ...args]);
  }

  /** Whether the server runs; throws if the server at this socket is not ours. */
  async isRunning(): Promise<boolean> {
    const { code, stdout, stderr } = await this.#execute(['show-options', '-sqv', '@ralph']);
    if (code === 0 && stdout.trim() === '1') return true;
    if (code === 0)
      throw new TmuxError(
        'foreign',
        `the tmux server ${JSON.stringify(this.place.socket)} was not started by Ralph; choose another name with --tmux-socket`,
      );
    if (NO_SERVER.test(stderr)) return false;
    throw failed('show-options', stderr);
  }

  async #run(args: readonly string[], input?: Buffer): Promise<string> {
    const { code, stdout, stderr } = await this.#execute(args, input);
    if (code === 0) return stdout;
    throw failed(args.find((word) => !word.startsWith('-') && !word.endsWith('.conf')) ?? '', stderr);
  }

  async #execute(
    args: readonly string[],
    input?: Buffer,
  ): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
    const done = await exec(this.command(...args), {
      // A server keeps the working directory of the client that starts it; in a workspace it would look like a stray.
      cwd: '/',
      env: clientEnvironment(process.env),
      timeoutMs: TIMEOUT_MS,
      ...(input === undefined ? {} : { input }),
    });
    if (done === null) throw missing();
    const { code, stderr } = done;
    return { code, stderr, stdout: done.stdout.toString('utf8') };
  }

  async #requireTmux(): Promise<void> {
    if (this.#isUsable) return;
    const problem = await tmuxProblem();
    if (problem !== null) throw problem;
    this.#isUsable = true;
  }
}

/** Commands that the server carries out together: it does nothing else in between. */
export function together(...commands: readonly (readonly string[])[]): readonly string[] {
  return commands.flatMap((words, index) => (index === 0 ? words : [';'].concat(words)));
}

/** Why tmux cannot be used; null if it can. */
export async function tmuxProblem(): Promise<TmuxError | null> {
  const done = await exec(['tmux', '-V'], {
    cwd: '/',
    env: clientEnvironment(process.env),
    timeoutMs: TIMEOUT_MS,
  });
  if (done === null) return missing();
  const version = done.stdout.toString('utf8').trim();
  // A development version (`tmux next-3.6`, `tmux openbsd-7.0`) is newer than the oldest that works.
  const [, major] = /^tmux (\d+)\.\d+/.exec(version) ?? [];
  if (major === undefined || Number(major) >= OLDEST) return null;
  return new TmuxError('too-old', `${version} is too old; Ralph needs tmux ${OLDEST}.0 or newer`);
}

const OLDEST = 3;
const TIMEOUT_MS = 10_000;
const NO_SERVER = /no server running|error connecting to/;

function missing(): TmuxError {
  return new TmuxError('missing', 'tmux is not installed (looked in PATH)');
}

function failed(command: string, stderr: string): TmuxError {
  const why = stderr.trim();
  return new TmuxError('failed', `tmux ${command} failed: ${why === '' ? 'no answer' : why}`);
}

/** Only what tmux and a shell in one of its windows need: neither a marker of a run nor TMUX and TMUX_TMPDIR. */
function clientEnvironment(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const kept = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'LC_CTYPE'];
  return Object.fromEntries(
    kept.flatMap((name): [string, string][] => {
      const value = env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** The environment for a client on the user's terminal: the user's own, but not as a part of another tmux. */
export function attachEnvironment(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const { TMUX: _, TMUX_PANE: __, TMUX_TMPDIR: ___, ...rest } = env;
  return Object.fromEntries(
    Object.entries(rest).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
