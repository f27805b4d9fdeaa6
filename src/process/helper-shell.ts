/**
 * Runs short programs through a small shell that stays. Node is large, so starting a process from it takes three times as
 * long as starting one from a shell of a few hundred kilobytes.
 *
 * 1. A shell runs one program at a time. There are at most `MAX_SHELLS`; the caller starts other programs itself.
 * 2. A program gets exactly the given environment (and PWD), the given input, and the shell's process group.
 * 3. A signal goes to the program and everything that it has started. The shell survives it to report the end of the
 *    program, and is replaced after that.
 * 4. A shell ends when this process ends, however that happens, because its stdin is closed then. One that runs a program ends
 *    after it.
 * 5. A program that may run for long keeps its shell busy, so there is only one at a time. It gets files instead of pipes: it does
 *    not notice when this process ends.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { randomUuid } from '../files/random-uuid.ts';
import { findCommand } from './command.ts';
import { MarkedOutput } from './marked-output.ts';
import { canExport, countChanges, exportsOf } from './shell-environment.ts';
import { inQuotes } from './shell-quote.ts';

/**
 * Runs a program to its end. Null if no shell can run it, or if the shell died; then the caller starts it in another way.
 */
export function runInShell(
  argv: readonly [string, ...string[]],
  place: Place,
  input = '',
): RunningInShell | null {
  const isFit = LINES.test(input) && input.length <= MAX_INPUT && isPassedOn(argv, place);
  const shell = isFit ? (takeIdle(idle.find((one) => one !== long) ?? null) ?? startShell()) : null;
  return shell === null ? null : shell.run(argv, place, input);
}

/**
 * Starts a program that may run for long; null if that is not possible. Its files are paths that no other process can replace.
 */
export async function startInShell(
  argv: readonly [string, ...string[]],
  place: Place,
  files: ProgramFiles,
): Promise<StartedInShell | null> {
  const isFit =
    !isLongRunning &&
    sizeOf(argv) <= MAX_WORDS &&
    isPassedOn([...argv, files.stdin, files.stdout, files.stderr], place);
  const shell = isFit ? (takeIdle(long) ?? startShell()) : null;
  if (shell === null) return null;
  long = shell;
  isLongRunning = true;
  const started = await shell.start(argv, place, files);
  if (started === null) isLongRunning = false;
  else
    void started.ended.finally(() => {
      isLongRunning = false;
    });
  return started;
}

let isLongRunning = false;
/** The shell that ran the last of these programs, which all have almost the same environment. */
let long: HelperShell | null = null;

/** Takes out an idle shell, this one if possible. */
function takeIdle(preferred: HelperShell | null): HelperShell | null {
  const at = preferred === null ? -1 : idle.indexOf(preferred);
  return (at < 0 ? idle.pop() : idle.splice(at, 1)[0]) ?? null;
}

/** Longer command lines take longer to quote and to read than a start from this process. */
const MAX_WORDS = 16_000;

function sizeOf(words: readonly string[]): number {
  return words.reduce((sum, word) => sum + word.length, 0);
}

export interface ProgramFiles {
  readonly stdin: string;
  readonly stdout: string;
  readonly stderr: string;
}

export interface StartedInShell {
  /** `/proc/<pid>/stat` of the program, written before it began. */
  readonly stat: string;
  /** Resolves to its exit code when the program has ended; null if its shell ended before. */
  readonly ended: Promise<number | null>;
  /** Lets this process exit before the program does. */
  readonly release: () => void;
}

export interface RunningInShell {
  /** Resolves when the program has ended; null if it could not be run. */
  readonly ended: Promise<ShellAnswer | null>;
  /** The shell, which is the parent of the program and leads its process group. */
  readonly pid: number;
  /** Sends a signal to the program and what it has started. */
  readonly signal: (name: NodeJS.Signals) => void;
}

export interface ShellAnswer {
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** What a shell passes on unchanged: complete lines of ASCII. */
const LINES = /^(?:[\t\x20-\x7e]*\n)*$/;
/** Fits in a pipe on every system. */
const MAX_INPUT = 4000;

const MAX_SHELLS = 3;
const shells = new Set<HelperShell>();
const idle: HelperShell[] = [];

function startShell(): HelperShell | null {
  if (shells.size >= MAX_SHELLS) return null;
  try {
    const shell = new HelperShell();
    shells.add(shell);
    return shell;
  } catch {
    return null;
  }
}

/** Whether a shell would not change the arguments or the environment. */
function isPassedOn(argv: readonly string[], { cwd, env }: Place): boolean {
  return canExport(env) && ![cwd, ...argv, ...Object.values(env)].some((text) => text.includes('\0'));
}

interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The exit code of a shell that cannot find a program. */
const NOT_STARTED = 127;
const NOT_EXECUTABLE = 126;
/** A shell adds 128 to the number of the signal. Git uses 128 and 129 itself. */
const ENDED_BY_SIGNAL = 130;

class HelperShell {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #mark = randomUuid();
  #stdout = new MarkedOutput();
  #stderr = new MarkedOutput();
  /** Whether the program's stderr is collected, and not a file. */
  #hasStderr = true;
  #finish: ((answer: ShellAnswer | null) => void) | null = null;
  /** Takes the first line of a program that may run for long; null if it could not be started. */
  #begin: ((stat: string | null) => void) | null = null;
  #isSignalled = false;
  /** What the shell has: most programs have almost the same environment. */
  #kept: Place['env'] = {};
  #keepAlive: NodeJS.Timeout | null = null;

  constructor() {
    // Nothing of the environment, so that a search for processes by their environment does not find it.
    const child = spawn('/bin/sh', ['-s'], { cwd: '/', env: {}, stdio: 'pipe', detached: true });
    this.#child = child;
    child.once('error', () => this.#end());
    if (child.pid === undefined) throw new Error('cannot start /bin/sh');
    child.once('exit', () => {
      // A program that has begun has said so, which may not be read yet.
      if (this.#begin === null) this.#end();
    });
    child.once('close', () => this.#end());
    child.stdin.on('error', () => {});
    child.stdout.on('data', (chunk: Buffer) => this.#take(this.#stdout, chunk));
    child.stderr.on('data', (chunk: Buffer) => this.#take(this.#stderr, chunk));
    // A trap is not inherited by programs.
    child.stdin.write('trap : HUP INT TERM\n');
    child.unref();
    for (const stream of [child.stdin, child.stdout, child.stderr])
      // Not imported: loading it takes time where no shell is needed.
      if (stream instanceof process.getBuiltinModule('node:net').Socket) stream.unref();
  }

  run(argv: readonly [string, ...string[]], { cwd, env }: Place, input: string): RunningInShell {
    const [program, ...args] = argv;
    const words = [locate(program, { cwd, env }), ...args].map(inQuotes).join(' ');
    const line = `${this.#variables(env)}cd ${inQuotes(cwd)} || exit ${NOT_STARTED}; exec ${words}`;
    const ended = this.#expectEnd();
    const stdin = input === '' ? ['</dev/null', ''] : [`<<'${this.#mark}'`, `${input}${this.#mark}\n`];
    const reports = `${this.#report}; ${this.#report} >&2`;
    this.#child.stdin.write(`(${line}) ${stdin[0]}; ${reports}\n${stdin[1]}`);
    return { ended: ended.then(meaningOf), pid: this.#child.pid ?? 0, signal: (name) => this.#signal(name) };
  }

  async start(
    argv: readonly [string, ...string[]],
    { cwd, env }: Place,
    { stdin, stdout, stderr }: ProgramFiles,
  ): Promise<StartedInShell | null> {
    const answer = this.#expectEnd({ withStderr: false });
    const begun = new Promise<string | null>((resolve) => {
      this.#begin = resolve;
    });
    // `cd` sets both. A folder may have another name, which the shim checks.
    const { OLDPWD, PWD } = env;
    const before = [
      OLDPWD === undefined ? 'unset OLDPWD' : `OLDPWD=${inQuotes(OLDPWD)}`,
      ...(PWD === undefined ? [] : [`PWD=${inQuotes(PWD)}`]),
    ].join(' && ');
    const files = `9>&1 <${inQuotes(stdin)} >>${inQuotes(stdout)} 2>>${inQuotes(stderr)}`;
    const words = [this.#variables(env), `cd ${inQuotes(cwd)} && ${before} && `, TELL_BIRTH];
    const line = `${words.join('')} && exec ${argv.map(inQuotes).join(' ')} 9>&-`;
    this.#child.stdin.write(`(${line}) ${files}; ${this.#report}\n`);
    const stat = await begun;
    if (stat === null) return null;
    const ended = answer.then((found) => found?.code ?? null);
    return { stat, ended, release: () => this.#stayAlive(false) };
  }

  #expectEnd({ withStderr = true } = {}): Promise<ShellAnswer | null> {
    this.#stdout = new MarkedOutput();
    this.#stderr = new MarkedOutput();
    this.#hasStderr = withStderr;
    this.#stayAlive(true);
    return new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  /** Keeps this process alive while a program runs: the streams of the shell do not. */
  #stayAlive(isWanted: boolean): void {
    if (this.#keepAlive !== null) clearInterval(this.#keepAlive);
    this.#keepAlive = isWanted ? setInterval(() => {}, KEEP_ALIVE_MS) : null;
  }

  get #report(): string {
    return `printf '\\n%s %d\\n' ${this.#mark} $?`;
  }

  /** The commands that set the environment of one program: what differs from the one that the shell keeps. */
  #variables(env: Place['env']): string {
    if (countChanges(this.#kept, env) > MAX_CHANGES) {
      this.#child.stdin.write(`${exportsOf(this.#kept, env)}\n`);
      this.#kept = env;
    }
    return exportsOf(this.#kept, env);
  }

  #take(output: MarkedOutput, chunk: Buffer): void {
    output.add(chunk);
    this.#lookForBirth();
    const code = this.#stdout.codeAfter(this.#mark);
    if (code === null || (this.#hasStderr && this.#stderr.codeAfter(this.#mark) === null)) return;
    const answer = {
      code,
      stdout: this.#stdout.before(this.#mark),
      stderr: this.#stderr.before(this.#mark).toString('utf8'),
    };
    if (this.#isSignalled) this.#child.stdin.end();
    else idle.push(this);
    this.#settle(answer);
  }

  #lookForBirth(): void {
    const line = this.#begin === null ? null : this.#stdout.firstLine;
    if (line === null) return;
    // Without it, the first line is the empty one before the mark.
    this.#begin?.(line === '' ? null : line);
    this.#begin = null;
  }

  #signal(name: NodeJS.Signals): void {
    if (this.#finish === null) return;
    this.#isSignalled = true;
    shells.delete(this);
    try {
      process.kill(-(this.#child.pid ?? 0), name);
    } catch {
      // It has already exited.
    }
  }

  /** The shell is gone. */
  #end(): void {
    shells.delete(this);
    const at = idle.indexOf(this);
    if (at >= 0) idle.splice(at, 1);
    const [stdout, stderr] = [this.#stdout.before(this.#mark), this.#stderr.before(this.#mark)];
    this.#settle(this.#isSignalled ? { code: null, stdout, stderr: stderr.toString('utf8') } : null);
  }

  #settle(answer: ShellAnswer | null): void {
    this.#stayAlive(false);
    this.#begin?.(null);
    this.#begin = null;
    const finish = this.#finish;
    this.#finish = null;
    finish?.(answer);
  }
}

/** The path of a program: the shell would try every folder of PATH again each time. */
function locate(program: string, { cwd, env }: Place): string {
  const path = env['PATH'] ?? '';
  const key = [program, cwd, path].join('\0');
  const known = locations.get(key);
  if (known !== undefined) return known;
  const command = findCommand(program, path, cwd);
  const location = command.found === 'executable' ? command.path : program;
  locations.set(key, location);
  return location;
}

/** A program that is moved later is started by the caller, who searches for it. */
const locations = new Map<string, string>();

/** The answer of a program whose output was collected; null if the shell could not start it. */
function meaningOf(answer: ShellAnswer | null): ShellAnswer | null {
  const code = answer?.code ?? null;
  if (answer === null || code === NOT_STARTED || code === NOT_EXECUTABLE) return null;
  return { ...answer, code: code !== null && code >= ENDED_BY_SIGNAL ? null : code };
}

/** The process that will be the program says which one it is. */
const TELL_BIRTH = 'read -r ralph_stat </proc/self/stat && printf "%s\\n" "$ralph_stat" >&9';

const MAX_CHANGES = 8;
const KEEP_ALIVE_MS = 2 ** 30;
