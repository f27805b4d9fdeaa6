/**
 * Runs a command to completion behind the same shim as an agent and keeps its output in a log file: for checks and SCM
 * tasks.
 *
 * 1. The log has the complete output: stdout, followed by stderr.
 * 2. When the command is over (also by a timeout or an interrupt), so is everything that it started.
 * 3. A command that a dead owner left running is never adopted: recovery ends it (`recovery/recovery.ts`), and it runs
 *    again.
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
import { dirname, join } from 'node:path';
import { NAMESPACE_FILE, type Wrapper } from './sandboxed.ts';
import { birthOf, exitStatus, startShim, type Shim, type ShimSpec } from './shim.ts';
import { stopRun } from './stop.ts';
import type { Marker, ProcessTable } from './process-table.ts';

/** Runs the command; null if it was interrupted. */
export async function runLogged(
  spec: LoggedCommand,
  table: ProcessTable,
  interrupt: AbortSignal,
): Promise<LoggedResult | null> {
  const { argv, log, cwd, env, marker, timeoutMs } = spec;
  const startedAt = performance.now();
  // Every attempt has its own folder: a shim that starts too late finds its folder gone.
  const folder = `${log}.${process.pid}.${Math.round(startedAt * 1000)}`;
  const stderr = `${folder}/stderr`;
  mkdirSync(folder, { recursive: true });
  mkdirSync(dirname(log), { recursive: true });
  writeFileSync(log, '');
  try {
    const command = {
      folder,
      argv,
      cwd,
      env: { ...env, [marker.name]: marker.value },
      sandbox: spec.sandbox,
    };
    const shim = tryToStart({ ...command, stdin: null, stdout: log, stderr });
    if (shim instanceof Error) {
      appendText(log, `Error: ${shim.message}\n`);
      return { code: null, timedOut: false, durationMs: 0 };
    }
    const { ending, status } = await runToEnd(shim, folder, spec, table, interrupt);
    // The command may have deleted untracked files, and its own log with them.
    mkdirSync(dirname(log), { recursive: true });
    appendFile(log, stderr);
    if (ending === 'interrupted') return null;
    const timedOut = ending === 'timed out';
    if (timedOut) appendText(log, `\nTimeout (${(timeoutMs ?? 0) / 1000}s)\n`);
    const durationMs = Math.round(performance.now() - startedAt);
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
  /** The file for the output. */
  readonly log: string;
  /** Null is unlimited. */
  readonly timeoutMs: number | null;
  readonly graceMs: number;
  /** Absent or null for none. */
  readonly sandbox?: Wrapper | null | undefined;
}

export interface LoggedResult {
  /** Null if it timed out or could not be started. */
  readonly code: number | null;
  readonly timedOut: boolean;
  readonly durationMs: number;
}

/** A command that the system refuses to start (because it is too long, for example) counts as failed. */
function tryToStart(spec: ShimSpec): Shim | Error {
  try {
    return startShim(spec);
  } catch (error) {
    if (error instanceof Error && 'syscall' in error && String(error.syscall).startsWith('spawn'))
      return error;
    throw error;
  }
}

/** Waits for the command, then ends everything that it left running. */
async function runToEnd(
  shim: Shim,
  folder: string,
  { marker, cwd, timeoutMs, graceMs }: LoggedCommand,
  table: ProcessTable,
  interrupt: AbortSignal,
): Promise<{ readonly ending: Ending; readonly status: number | null }> {
  const birth = birthOf(shim, table);
  const ending = await firstOf(shim.ended, timeoutMs, interrupt);
  const namespaceFile = join(folder, NAMESPACE_FILE);
  await stopRun({ shim: birth, marker, folder: cwd, namespaceFile, graceMs }, table);
  return { ending, status: await shim.ended };
}

type Ending = 'ended' | 'timed out' | 'interrupted';

function firstOf(ended: Promise<unknown>, timeoutMs: number | null, interrupt: AbortSignal): Promise<Ending> {
  return new Promise((resolve) => {
    const settle = (ending: Ending) => (): void => {
      clearTimeout(timer);
      interrupt.removeEventListener('abort', interrupted);
      resolve(ending);
    };
    const timer =
      timeoutMs === null
        ? undefined
        : setTimeout(() => settle('timed out')(), Math.min(timeoutMs, MAX_TIMER_MS));
    const interrupted = settle('interrupted');
    interrupt.addEventListener('abort', interrupted);
    if (interrupt.aborted) interrupted();
    void ended.then(settle('ended'));
  });
}

/** Node fires a longer timer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

function appendFile(to: string, from: string): void {
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
