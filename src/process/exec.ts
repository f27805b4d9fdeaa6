import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { runInShell } from './helper-shell.ts';
import { turn } from './turns.ts';
import type { Environment } from './process.ts';

/**
 * Runs a short-lived program (git, for example) and collects its output. Resolves to null if it cannot be started, except
 * where the system has no file descriptors, processes or memory left, which is an error.
 */
export async function exec(
  argv: readonly [string, ...string[]],
  options: ExecOptions,
): Promise<Execution | null> {
  // A signal that is sent right after the start may come before the program has its process group.
  if (options.interrupt?.aborted === true) return { code: null, stdout: Buffer.alloc(0), stderr: '' };
  const answer = options.isShort === true ? await execInShell(argv, options) : null;
  if (answer !== null) return answer;
  // A start blocks this process for a moment, and many loops may want one.
  await turn();
  return execNow(argv, options);
}

/** Runs a program in a helper shell; null if that is not possible. */
async function execInShell(
  argv: readonly [string, ...string[]],
  { cwd, env, input, maxBytes = MAX_OUTPUT_BYTES, stopAfterBytes, timeoutMs, interrupt }: ExecOptions,
): Promise<Execution | null> {
  const isFit = (input === undefined || typeof input === 'string') && stopAfterBytes === undefined;
  // A process that runs only one program does not need a shell.
  if (!isFit || !canSeeChildren() || shortRuns++ === 0) return null;
  const running = runInShell(argv, { cwd, env }, input);
  if (running === null) return null;
  const terminate = (): void => running.signal('SIGTERM');
  const kill = (): void => running.signal('SIGKILL');
  const timeout = setTimeout(kill, timeoutMs ?? DEFAULT_TIMEOUT_MS);
  const watch = endIfStuck(() => descendantsOf(running.pid), kill);
  interrupt?.addEventListener('abort', terminate);
  const answer = await running.ended;
  clearTimeout(timeout);
  clearInterval(watch);
  interrupt?.removeEventListener('abort', terminate);
  return answer === null ? null : { ...answer, stdout: answer.stdout.subarray(0, maxBytes) };
}

let shortRuns = 0;

/** Whether the children of a process can be listed where that is needed to find one that waits for a FIFO. */
function canSeeChildren(): boolean {
  hasChildren ??= !existsSync('/proc/self/wchan') || existsSync(childrenFile(process.pid));
  return hasChildren;
}

let hasChildren: boolean | null = null;

function descendantsOf(pid: number): readonly number[] {
  try {
    const children = readFileSync(childrenFile(pid), 'utf8').split(' ').filter(Boolean).map(Number);
    return [...children, ...children.flatMap(descendantsOf)];
  } catch {
    return [];
  }
}

function childrenFile(pid: number): string {
  return `/proc/${pid}/task/${pid}/children`;
}

function execNow(argv: readonly [string, ...string[]], options: ExecOptions): Promise<Execution | null> {
  const { cwd, env, maxBytes = MAX_OUTPUT_BYTES, stopAfterBytes = Infinity, timeoutMs, interrupt } = options;
  const [program, ...args] = argv;
  const hasOwnGroup = timeoutMs !== undefined;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
      // In its own process group it does not receive Ctrl-C from the terminal.
      detached: hasOwnGroup,
    });
    const refuse = (error: Error & { readonly code?: unknown }): void => {
      clearTimeout(timeout);
      if (EXHAUSTED.has(String(error.code))) reject(error);
      else resolve(null);
    };
    // Before anything else: without file descriptors the child has no streams.
    child.once('error', refuse);
    if (options.isBackground === true) lowerPriority(child);
    // SIGTERM lets git remove its lock files.
    let killing: NodeJS.Timeout | undefined;
    const terminate = (): void => {
      signal(child, hasOwnGroup, 'SIGTERM');
      if (options.graceMs !== undefined)
        killing ??= setTimeout(() => signal(child, hasOwnGroup, 'SIGKILL'), options.graceMs);
    };
    // Not the `timeout` option of spawn: its timer keeps our process alive when the program cannot be started.
    const timeout = setTimeout(() => signal(child, hasOwnGroup, 'SIGKILL'), timeoutMs ?? DEFAULT_TIMEOUT_MS);
    if (child.pid === undefined) return;
    const { pid } = child;
    const watch = endIfStuck(
      () => [pid, ...descendantsOf(pid)],
      () => signal(child, hasOwnGroup, 'SIGKILL'),
    );
    interrupt?.addEventListener('abort', terminate);
    if (interrupt?.aborted === true) terminate();
    // A program that exits without reading its input closes the pipe, which is not an error.
    child.stdin.on('error', () => {}).end(options.input ?? '');
    const output = collectOutput(child, { maxBytes, stopAfterBytes }, terminate);
    const finish = (code: number | null): void => resolve(output.result(code));
    child.once('close', finish);
    child.once('exit', (code) => {
      clearTimeout(timeout);
      clearTimeout(killing);
      clearInterval(watch);
      interrupt?.removeEventListener('abort', terminate);
      // A child that it left running may keep the output open indefinitely.
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
        finish(code);
      }, LINGER_MS).unref();
    });
  });
}

export interface ExecOptions {
  readonly cwd: string;
  readonly env: Environment;
  /** Output beyond this size is dropped. */
  readonly maxBytes?: number;
  /** Once stdout has this many bytes the program is terminated; stdout is cut there and the exit code is 0. */
  readonly stopAfterBytes?: number;
  /** For its stdin. */
  readonly input?: string | Buffer;
  /** The timeout of a program that may take long or is not ours: its whole process group is killed. */
  readonly timeoutMs?: number;
  /** Terminates the program; with `timeoutMs`, its process group. */
  readonly interrupt?: AbortSignal;
  /** How long a program that is interrupted may take to end; by default it may ignore that. */
  readonly graceMs?: number;
  /** Runs with the lowest priority. */
  readonly isBackground?: boolean;
  /** It takes milliseconds, and this process runs many of its kind: starts it from a helper shell where that is possible. */
  readonly isShort?: boolean;
}

export interface Execution {
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const DEFAULT_TIMEOUT_MS = 60_000;
const LINGER_MS = 200;
/** The system has no room for another process; the program itself may be fine. */
const EXHAUSTED: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM']);

/**
 * Ends a program that waits for the other end of a FIFO: an agent may have put one in the place of `.gitignore` or `.git/index`, and
 * git would wait until its timeout. Only Linux says what a process waits for.
 */
function endIfStuck(pids: () => readonly number[], end: () => void): NodeJS.Timeout {
  let looks = 0;
  const look = (): void => {
    looks = pids().some((pid) => waitsFor(pid) === 'wait_for_partner') ? looks + 1 : 0;
    if (looks >= STUCK_LOOKS) end();
  };
  return setInterval(look, STUCK_INTERVAL_MS).unref();
}

const STUCK_INTERVAL_MS = 500;
/** A FIFO between two programs that are just starting is opened sooner. */
const STUCK_LOOKS = 4;

/** The function of the kernel that a process waits in. */
function waitsFor(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/wchan`, 'utf8');
  } catch {
    return null;
  }
}

function lowerPriority({ pid }: ChildProcessWithoutNullStreams): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It has already exited.
  }
}

function signal({ pid }: ChildProcessWithoutNullStreams, isGroup: boolean, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(isGroup ? -pid : pid, name);
  } catch {
    // It has already exited.
  }
}

function collectOutput(
  child: ChildProcessWithoutNullStreams,
  { maxBytes, stopAfterBytes }: { readonly maxBytes: number; readonly stopAfterBytes: number },
  terminate: () => void,
): { readonly result: (code: number | null) => Execution } {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  let totalBytes = 0;
  let stdoutBytes = 0;
  const keepIn = (chunks: Buffer[]) => (chunk: Buffer) => {
    totalBytes += chunk.length;
    if (totalBytes <= maxBytes) chunks.push(chunk);
  };
  child.stdout.on('data', keepIn(stdout)).on('data', (chunk: Buffer) => {
    stdoutBytes += chunk.length;
    if (stdoutBytes < stopAfterBytes) return;
    child.stdout.destroy();
    terminate();
  });
  child.stderr.on('data', keepIn(stderr));
  return {
    result: (code) => ({
      code: stdoutBytes >= stopAfterBytes ? 0 : code,
      stdout: Buffer.concat(stdout).subarray(0, stopAfterBytes),
      stderr: Buffer.concat(stderr).toString('utf8'),
    }),
  };
}
