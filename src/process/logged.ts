/**
 * Runs a command to its end behind the same shim as an agent, and keeps what it says in a file: checks, and the tasks of
 * the version control.
 *
 * 1. All of its output is kept, what it printed followed by what it complained of.
 * 2. When it is over, whatever it started is over too; so it is when it is interrupted or takes too long.
 * 3. One that a dead harness left running is never adopted: it is ended before anything else (`recovery/recovery.ts`),
 *    and run again.
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { birthOf, exitStatus, startShim } from './shim.ts';
import { stopRun } from './stop.ts';
import type { Marker, ProcessTable } from './process-table.ts';

/** Runs it; null when it was interrupted. */
export async function runLogged(
  spec: LoggedCommand,
  table: ProcessTable,
  interrupt: AbortSignal,
): Promise<LoggedResult | null> {
  const { argv, log, cwd, env, marker, timeoutMs, graceMs } = spec;
  const began = performance.now();
  // A folder of its own for every attempt: a shim that comes too late finds its folder gone.
  const folder = `${log}.${process.pid}.${Math.round(began * 1000)}`;
  const errors = `${folder}/stderr`;
  mkdirSync(folder, { recursive: true });
  mkdirSync(dirname(log), { recursive: true });
  writeFileSync(log, '');
  try {
    const command = { folder, argv, cwd, env: { ...env, [marker.name]: marker.value } };
    const shim = tryToStart({ ...command, stdin: null, stdout: log, stderr: errors });
    if (shim instanceof Error) {
      appendText(log, `Error: ${shim.message}\n`);
      return { code: null, timedOut: false, durationMs: 0 };
    }
    const birth = birthOf(shim, table);
    const ending = await race(shim.ended, timeoutMs, interrupt);
    await stopRun({ shim: birth, marker, folder: cwd, graceMs }, table);
    const status = await shim.ended;
    // It may have removed what is not in the repository, its own log with it.
    mkdirSync(dirname(log), { recursive: true });
    append(log, errors);
    if (ending === 'interrupted') return null;
    const timedOut = ending === 'timed out';
    if (timedOut) appendText(log, `\nTimeout (${(timeoutMs ?? 0) / 1000}s)\n`);
    const durationMs = Math.round(performance.now() - began);
    const code = timedOut ? null : (exitStatus(folder) ?? (existsSync(folder) ? null : status));
    return { code, timedOut, durationMs };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export interface LoggedCommand {
  /** The program with its path, and its arguments. */
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly marker: Marker;
  /** Where the output goes. */
  readonly log: string;
  readonly timeoutMs: number | null;
  readonly graceMs: number;
}

export interface LoggedResult {
  /** Null when it was killed at its time limit, and when it could not be started. */
  readonly code: number | null;
  readonly timedOut: boolean;
  readonly durationMs: number;
}

/** A command that no system takes, since it is too long, is one that fails. */
function tryToStart(spec: Parameters<typeof startShim>[0]): ReturnType<typeof startShim> | Error {
  try {
    return startShim(spec);
  } catch (error) {
    if (error instanceof Error && 'syscall' in error && String(error.syscall).startsWith('spawn'))
      return error;
    throw error;
  }
}

type Ending = 'ended' | 'timed out' | 'interrupted';

function race(ended: Promise<unknown>, timeoutMs: number | null, interrupt: AbortSignal): Promise<Ending> {
  return new Promise((resolve) => {
    const settle = (ending: Ending) => (): void => {
      clearTimeout(timer);
      interrupt.removeEventListener('abort', interrupted);
      resolve(ending);
    };
    const timer =
      timeoutMs === null
        ? undefined
        : setTimeout(() => settle('timed out')(), Math.min(timeoutMs, 2 ** 31 - 1));
    const interrupted = settle('interrupted');
    interrupt.addEventListener('abort', interrupted);
    if (interrupt.aborted) interrupted();
    void ended.then(settle('ended'));
  });
}

function append(to: string, from: string): void {
  if (!existsSync(from)) return;
  const source = openSync(from, 'a+');
  const target = openSync(to, 'a');
  const buffer = Buffer.allocUnsafe(64 * 1024);
  for (let at = 0; ;) {
    const count = readSync(source, buffer, 0, buffer.length, at);
    if (count === 0) break;
    writeSync(target, buffer, 0, count);
    at += count;
  }
  closeSync(source);
  closeSync(target);
}

function appendText(to: string, text: string): void {
  writeFileSync(to, text, { flag: 'a' });
}
