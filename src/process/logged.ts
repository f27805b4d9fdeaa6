/**
 * Runs a command to completion behind the same shim as an agent and keeps its output in a log file: for checks, set-ups and
 * SCM tasks.
 *
 * 1. The log has the complete output, stdout followed by stderr, up to the limit. A command that prints more is ended.
 * 2. When the command is over (also by a timeout or an interrupt), so is everything that it started.
 * 3. A command that a dead owner left running is never adopted: recovery ends it (`owner/recovery.ts`), and it runs
 *    again.
 * 4. A full disk is no result: exit code 0 counts even if the log is incomplete, but a command that fails while its log
 *    cannot be written has not failed. Then the error of the file system is thrown.
 */
import {
  closeSync,
  existsSync,
  lstatSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { naming, openRegular, PRIVATE_FOLDER, makeFolders } from '../files/files.ts';
import { NAMESPACE_FILE, type Wrapper } from './sandboxed.ts';
import { exitStatus, shimPid, startShim, type Shim, type ShimSpec } from './shim.ts';
import { stopRun } from './stop.ts';
import { turn } from './turns.ts';
import type { Marker, ProcessTable } from './process-table.ts';
import { refuseFullDisk } from './full-disk.ts';
import type { Environment } from './process.ts';

/** Runs the command; null if it was interrupted. */
export async function runLogged(
  spec: LoggedCommand,
  table: ProcessTable,
  interrupt: AbortSignal,
): Promise<LoggedResult | null> {
  const { argv, log, cwd, env, marker } = spec;
  const startedAt = performance.now();
  // Every attempt has its own files: what escaped from an earlier one may still write to those.
  const folder = `${log}.${process.pid}.${Math.round(startedAt * 1000)}`;
  const output = { log, stderr: `${folder}.stderr` };
  // Creating and deleting files takes most of the time of a quick command, and only a namespace needs those of a shim.
  const hasFiles = spec.sandbox?.kind === 'namespace';
  makeFolders(hasFiles ? folder : dirname(log), PRIVATE_FOLDER);
  // The shim gets a new file.
  if (lstatSync(log, { throwIfNoEntry: false }) !== undefined) rmSync(log);
  try {
    const command = {
      folder,
      hasFiles,
      argv,
      cwd,
      env: { ...env, [marker.name]: marker.value },
      sandbox: spec.sandbox,
    };
    // A start blocks this process for a moment, and many loops may want one.
    await turn();
    const files = { stdin: null, stdout: log, stderr: output.stderr };
    const shim = await tryToStart({ ...command, ...files }, table);
    if (shim instanceof Error) {
      appendText(log, `Error: ${shim.message}\n`);
      return { code: null, timedOut: false, durationMs: 0 };
    }
    const { ending, status } = await runToEnd(shim, folder, spec, output, table, interrupt);
    const unwritten = errorOf(() => completeLog(output, ending, spec));
    if (ending === 'interrupted') return null;
    const durationMs = Math.round(performance.now() - startedAt);
    if (ending !== 'ended') return { code: null, timedOut: false, [ENDED_BY[ending]]: true, durationMs };
    const code = hasFiles ? statusIn(folder, status) : status;
    if (code !== 0) {
      if (unwritten !== null) throw unwritten;
      refuseFullDisk(dirname(log), cwd);
    }
    return { code, timedOut: false, durationMs };
  } finally {
    if (existsSync(output.stderr)) unlinkSync(output.stderr);
    if (hasFiles) rmSync(folder, { recursive: true, force: true });
  }
}

export interface LoggedCommand {
  /** The program with its path, and its arguments. */
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Environment;
  readonly marker: Marker;
  /** The file for the output. */
  readonly log: string;
  /** Null is unlimited. */
  readonly timeoutMs: number | null;
  /** The maximum size of the output; null is unlimited. */
  readonly maxBytes: number | null;
  readonly graceMs: number;
  /** Absent or null for none. */
  readonly sandbox?: Wrapper | null | undefined;
}

export interface LoggedResult {
  /** Null if Ralph ended it, or if it could not be started. */
  readonly code: number | null;
  readonly timedOut: boolean;
  /** It printed more than it may; absent otherwise. */
  readonly flooded?: true;
  readonly durationMs: number;
}

/** How a command failed: `exit code 1`, `timed out after 5 s`. */
export function howEnded(
  { code, timedOut, flooded }: LoggedResult,
  { timeoutMs, maxBytes }: Pick<LoggedCommand, 'timeoutMs' | 'maxBytes'>,
): string {
  if (timedOut) return `timed out after ${(timeoutMs ?? 0) / 1000} s`;
  if (flooded === true) return `printed more than ${maxBytes ?? 0} bytes (maxOutput)`;
  return `exit code ${code ?? 'unknown'}`;
}

/** The status that a shim with files wrote. It exits with another one if it could not start the command. */
function statusIn(folder: string, status: number | null): number | null {
  const isOfCommand = shimPid(folder) !== null || !existsSync(folder);
  return exitStatus(folder) ?? (isOfCommand ? status : null);
}

/** A command that is too long for the system counts as failed. */
async function tryToStart(spec: ShimSpec, table: ProcessTable): Promise<Shim | Error> {
  try {
    return await startShim(spec, table);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'E2BIG') return error;
    throw error;
  }
}

/** Waits for the command, then ends everything that it left running. */
async function runToEnd(
  shim: Shim,
  folder: string,
  { marker, cwd, timeoutMs, maxBytes, graceMs }: LoggedCommand,
  output: Output,
  table: ProcessTable,
  interrupt: AbortSignal,
): Promise<{ readonly ending: Ending; readonly status: number | null }> {
  const isFlooded = (): boolean => maxBytes !== null && sizeOf(output) > maxBytes;
  const ending = await firstOf(
    shim.ended,
    { timeoutMs, isFlooded: maxBytes === null ? null : isFlooded },
    interrupt,
  );
  const namespaceFile = join(folder, NAMESPACE_FILE);
  await stopRun({ shim: shim.birth, marker, folder: cwd, namespaceFile, graceMs }, table);
  const status = await shim.ended;
  // A command that printed too much and was quick has the same result as a slow one.
  return { ending: ending === 'ended' && isFlooded() ? 'flooded' : ending, status };
}

type Ending = 'ended' | 'timed out' | 'flooded' | 'interrupted';
const ENDED_BY = { 'timed out': 'timedOut', flooded: 'flooded' } as const;

function firstOf(
  ended: Promise<unknown>,
  { timeoutMs, isFlooded }: { readonly timeoutMs: number | null; readonly isFlooded: (() => boolean) | null },
  interrupt: AbortSignal,
): Promise<Ending> {
  return new Promise((resolve) => {
    const settle = (ending: Ending) => (): void => {
      clearTimeout(timer);
      clearInterval(looks);
      interrupt.removeEventListener('abort', interrupted);
      resolve(ending);
    };
    const timer =
      timeoutMs === null
        ? undefined
        : setTimeout(() => settle('timed out')(), Math.min(timeoutMs, MAX_TIMER_MS));
    const looks =
      isFlooded === null
        ? undefined
        : setInterval(() => {
            if (isFlooded()) settle('flooded')();
          }, LOOK_EVERY_MS);
    const interrupted = settle('interrupted');
    interrupt.addEventListener('abort', interrupted);
    if (interrupt.aborted) interrupted();
    void ended.then(settle('ended'));
  });
}

/** Node fires a longer timer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** How often the size of the output is looked at. */
const LOOK_EVERY_MS = 200;

/** The files that a command writes. */
interface Output {
  readonly log: string;
  readonly stderr: string;
}

function sizeOf({ log, stderr }: Output): number {
  return sizeAt(log) + sizeAt(stderr);
}

function sizeAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Appends stderr, and a note if the command was ended. */
function completeLog({ log, stderr }: Output, ending: Ending, { timeoutMs, maxBytes }: LoggedCommand): void {
  // The command may have deleted untracked files, and its own log with them.
  makeFolders(dirname(log), PRIVATE_FOLDER);
  if (maxBytes !== null && ending === 'flooded') {
    if (sizeAt(log) > maxBytes) truncateSync(log, maxBytes);
    appendFile(log, stderr, maxBytes - sizeAt(log));
    appendText(log, `\nOutput limit (${maxBytes} bytes)\n`);
    return;
  }
  appendFile(log, stderr, Infinity);
  if (ending === 'timed out') appendText(log, `\nTimeout (${(timeoutMs ?? 0) / 1000}s)\n`);
}

function errorOf(work: () => void): unknown {
  try {
    work();
    return null;
  } catch (error) {
    return error;
  }
}

function appendFile(to: string, from: string, maxBytes: number): void {
  if (!existsSync(from)) return;
  const source = openRegular(from, 'append');
  const target = openRegular(to, 'append');
  const buffer = Buffer.allocUnsafe(64 * 1024);
  try {
    for (let at = 0; at < maxBytes;) {
      const count = readSync(source, buffer, 0, Math.min(buffer.length, maxBytes - at), at);
      if (count === 0) break;
      // On a disk that is almost full, a part of it may fit.
      at += naming(to, () => writeSync(target, buffer, 0, count));
    }
  } finally {
    closeSync(source);
    closeSync(target);
  }
}

function appendText(to: string, text: string): void {
  naming(to, () => writeFileSync(to, text, { flag: 'a' }));
}
