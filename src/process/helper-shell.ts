/**
 * Runs short programs through a small shell that stays. Node is large, so starting a process from it takes three times as
 * long as starting one from a shell of a few hundred kilobytes.
 *
 * 1. A shell runs one program at a time. There are at most `MAX_SHELLS`; the caller starts other programs itself.
 * 2. A program gets exactly the given environment (and PWD), the given input, and the shell's process group.
 * 3. A signal goes to the program and everything that it has started. The shell survives it to report the end of the
 *    program, and is replaced after that.
 * 4. A shell ends when this process ends, however that happens, because its stdin is closed then.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { findCommand } from './command.ts';
import { isPassedOn, ShellEnvironment } from './shell-environment.ts';
import { inQuotes } from '../loop/shell-quote.ts';
import type { Environment } from './process.ts';

/**
 * Runs a program to its end. Null if no shell can run it, or if the shell died; then the caller starts it in another way.
 */
export function runInShell(
  argv: readonly [string, ...string[]],
  place: Place,
  input = '',
): RunningInShell | null {
  const isFit = LINES.test(input) && input.length <= MAX_INPUT && isPassedOn([place.cwd, ...argv], place.env);
  const shell = isFit ? (idle.pop() ?? startShell()) : null;
  return shell === null ? null : shell.run(argv, place, input);
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

interface Place {
  readonly cwd: string;
  readonly env: Environment;
}

/** The exit code of a shell that cannot find a program. */
const NOT_STARTED = 127;
const NOT_EXECUTABLE = 126;
/** A shell adds 128 to the number of the signal. Git uses 128 and 129 itself. */
const ENDED_BY_SIGNAL = 130;

const SHELL = '/bin/sh';

class HelperShell {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #mark = randomUUID();
  #stdout = new MarkedOutput();
  #stderr = new MarkedOutput();
  #finish: ((answer: ShellAnswer | null) => void) | null = null;
  #isSignalled = false;
  readonly #environment = new ShellEnvironment(MAX_CHANGES);
  /** Keeps this process alive while a program runs: the streams of the shell do not. */
  #keepAlive: NodeJS.Timeout | null = null;

  constructor() {
    // Nothing of the environment, so that a search for processes by their environment does not find it.
    const child = spawn(SHELL, ['-s'], { cwd: '/', env: {}, stdio: 'pipe', detached: true });
    this.#child = child;
    child.once('error', () => this.#end());
    if (child.pid === undefined) throw new Error(`cannot start ${SHELL}`);
    child.once('exit', () => this.#end());
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
    // A script needs no other shell.
    const isScript = program === SHELL && args[0] === '-c' && args.length === 2;
    const command = isScript ? `eval ${inQuotes(args[1] ?? '')}` : `exec ${words}`;
    const variables = this.#environment.commandsFor(env);
    const line = `${variables.own}cd ${inQuotes(cwd)} || exit ${NOT_STARTED}; ${command}`;
    this.#stdout = new MarkedOutput();
    this.#stderr = new MarkedOutput();
    this.#keepAlive = setInterval(() => {}, KEEP_ALIVE_MS);
    const ended = new Promise<ShellAnswer | null>((resolve) => {
      this.#finish = resolve;
    });
    const end = `printf '\\n%s %d\\n' ${this.#mark} $?; printf '\\n%s 0\\n' ${this.#mark} >&2`;
    const stdin = input === '' ? ['</dev/null', ''] : [`<<'${this.#mark}'`, `${input}${this.#mark}\n`];
    this.#child.stdin.write(`${variables.lasting}(${line}) ${stdin[0]}; ${end}\n${stdin[1]}`);
    return { ended, pid: this.#child.pid ?? 0, signal: (name) => this.#signal(name) };
  }

  #take(output: MarkedOutput, chunk: Buffer): void {
    output.add(chunk);
    const code = this.#stdout.codeAfter(this.#mark);
    if (code === null || this.#stderr.codeAfter(this.#mark) === null) return;
    const answer = {
      code,
      stdout: this.#stdout.before(this.#mark),
      stderr: this.#stderr.before(this.#mark).toString('utf8'),
    };
    if (this.#isSignalled) this.#child.stdin.end();
    else idle.push(this);
    const isUnstarted = code === NOT_STARTED || code === NOT_EXECUTABLE;
    this.#settle(isUnstarted ? null : { ...answer, code: code >= ENDED_BY_SIGNAL ? null : code });
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
    if (this.#keepAlive !== null) clearInterval(this.#keepAlive);
    this.#keepAlive = null;
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

const MAX_CHANGES = 8;
const KEEP_ALIVE_MS = 2 ** 30;

/** Collects output until a line with a mark and an exit code. */
class MarkedOutput {
  readonly #chunks: Buffer[] = [];
  #end = '';

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#end = `${this.#end}${chunk.subarray(-MAX_END).toString('latin1')}`.slice(-MAX_END);
  }

  codeAfter(mark: string): number | null {
    if (!this.#end.endsWith('\n')) return null;
    const at = this.#end.lastIndexOf(`\n${mark} `);
    return at < 0 ? null : Number(this.#end.slice(at + mark.length + 2));
  }

  before(mark: string): Buffer {
    const all = this.#chunks.length === 1 ? this.#chunks[0] : undefined;
    const bytes = all ?? Buffer.concat(this.#chunks);
    const at = bytes.lastIndexOf(`\n${mark} `);
    return at < 0 ? bytes : bytes.subarray(0, at);
  }
}

/** Longer than a mark and an exit code. */
const MAX_END = 64;
