/**
 * Keeps a shell waiting in which the next program can start at once. Node is large, and the fork takes most of the time of a
 * start; the fork of a spare shell happens while this process has nothing else to do.
 *
 * 1. The shell replaces itself with the program: the program is a child of this process and leads its own session, as if it
 *    had been started directly. Only its start time is earlier.
 * 2. The program gets exactly the given environment (and PWD), and files as its input and output.
 * 3. One shell waits at a time, and only in a process that starts programs again and again. It does not keep this process
 *    alive, and ends with it, however that happens, because its stdin is closed then.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Socket } from 'node:net';
import { canExport, exportsOf } from './shell-environment.ts';
import { inQuotes } from './shell-quote.ts';

/** Starts a program in the spare shell; null if there is none or if the program has to be started in another way. */
export function startInSpareShell(
  argv: readonly [string, ...string[]],
  { cwd, env, stdin, stdout, stderr }: Place,
): StartedProcess | null {
  if (spare === null || !existsSync(cwd) || !canExport(env)) return null;
  const program = argv.map(inQuotes).join(' ');
  const files = `<${inQuotes(stdin)} >>${inQuotes(stdout)} 2>>${inQuotes(stderr)}`;
  const line = `cd ${inQuotes(cwd)} || exit ${NOT_STARTED}; unset OLDPWD; ${exportsOf({}, env)}exec ${program} ${files}\n`;
  // The system refuses a program with too much of it, and only a direct start says so.
  if (line.length > MAX_LINE || line.includes('\0')) return null;
  const shell = spare;
  spare = null;
  shell.ref();
  shell.stdin?.end(line);
  return shell;
}

export type StartedProcess = ChildProcess & { readonly pid: number };

export function isStarted(child: ChildProcess): child is StartedProcess {
  return child.pid !== undefined;
}

export interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Files; what is written is appended. */
  readonly stdin: string;
  readonly stdout: string;
  readonly stderr: string;
}

/** To be called after a start: the next one may be soon. */
export function keepSpareShell(): void {
  if (starts++ === 0 || isPlanned || spare !== null) return;
  isPlanned = true;
  setImmediate(() => {
    isPlanned = false;
    spare ??= startShell();
  }).unref();
}

const NOT_STARTED = 125;
/** Half of what Linux allows for one argument. */
const MAX_LINE = 64 * 1024;

let spare: StartedProcess | null = null;
let isPlanned = false;
let starts = 0;

function startShell(): StartedProcess | null {
  try {
    // Nothing of the environment, so that a search for processes by their environment does not find it.
    const shell = spawn('/bin/sh', ['-s'], {
      cwd: '/',
      env: {},
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    const forget = (): void => {
      if (spare === shell) spare = null;
    };
    shell.once('error', forget);
    shell.once('exit', forget);
    shell.stdin.on('error', () => {});
    shell.unref();
    if (shell.stdin instanceof Socket) shell.stdin.unref();
    return isStarted(shell) ? shell : null;
  } catch {
    return null;
  }
}
