/**
 * The agent's parent: a small POSIX shell in a session of its own. It outlives the harness, and what it writes into
 * its folder is all that a later harness needs to know.
 *
 * 1. Making the file `started`, which only one can, is its first act: the same folder runs at most once, however
 *    often it is started.
 * 2. Its traps do nothing but keep it alive: a signal to the group ends the agent, and the shim still writes the
 *    status. They are not ignored signals, which the agent would inherit, and the agent runs in the foreground, since
 *    in the background it would inherit an ignored SIGINT.
 * 3. Output goes to files and input comes from one: nobody blocks on a pipe that somebody else holds. What the shell
 *    itself has to say ("Killed") goes nowhere: the files have the agent's words only.
 * 4. `exit` holds the whole status once it ends with a newline. `exit 143` cannot be told from SIGTERM, so it is a
 *    number and no claim about a signal.
 */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Birth, ProcessTable } from './process-table.ts';

const SCRIPT = `
set -C
{ echo $$ >"$1/started"; } 2>/dev/null || exit 125
set +C
trap : HUP INT QUIT TERM
[ -z "$RALPH_UMASK" ] || umask "$RALPH_UMASK"
ralph_dir=$1
shift
exec 3>&2 2>/dev/null
(exec "$@" 2>&3 3>&-)
ralph_status=$?
echo $ralph_status >"$ralph_dir/exit"
exit $ralph_status
`;

/** Starts the shim; throws when not even a shell can be started. Its birth must be read before anything is awaited. */
export function startShim(spec: ShimSpec): Shim {
  const descriptors = [
    openSync(spec.stdin ?? '/dev/null', 'r'),
    openSync(spec.stdout, 'a'),
    openSync(spec.stderr, 'a'),
  ];
  try {
    const child = spawn('/bin/sh', ['-c', SCRIPT, 'ralph-shim', spec.folder, ...spec.argv], {
      cwd: spec.cwd,
      env: spec.env,
      stdio: descriptors,
      detached: true,
    });
    let trouble: Error | null = null;
    child.once('error', (error) => {
      trouble = error;
    });
    if (child.pid === undefined) throw trouble ?? new Error(`/bin/sh cannot be started in ${spec.cwd}`);
    const ended = new Promise<number | null>((resolve) => {
      child.once('exit', (code) => resolve(code));
    });
    return { pid: child.pid, ended, release: () => child.unref() };
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

export interface ShimSpec {
  /** Gets `started`, with the shim's pid in it, and `exit`. */
  readonly folder: string;
  /** The program with its path (a bare name might be a word of the shell's own), and its arguments. */
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** A file; null for an empty input. */
  readonly stdin: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Shim {
  readonly pid: number;
  /**
   * The shim is gone, and its own status is the agent's; null if it was killed itself. It is in `exit` too, unless
   * the folder was removed under it.
   */
  readonly ended: Promise<number | null>;
  /** Lets this process exit before the shim does. */
  release(): void;
}

/** Who a shim is that was just started; a quick one is gone before anything is awaited. */
export function birthOf({ pid }: Shim, table: ProcessTable): Birth {
  return table.birth(pid) ?? unknownBirth(pid);
}

/** One of which only the pid is known, so that it is never taken for one that lives. */
export function unknownBirth(pid: number): Birth {
  return { pid, startTime: '', bootId: '', pidNamespace: '' };
}

/** The status that the shim wrote; null while there is none. */
export function exitStatus(folder: string): number | null {
  const text = readOrNull(join(folder, 'exit'));
  return text !== null && text.endsWith('\n') ? Number(text) : null;
}

/** Whether a shim has ever begun in this folder. */
export function hasStarted(folder: string): boolean {
  return existsSync(join(folder, 'started'));
}

/** The pid that the shim wrote of itself, for a harness that died before it could. */
export function shimPid(folder: string): number | null {
  const text = readOrNull(join(folder, 'started'));
  return text !== null && text.endsWith('\n') ? Number(text) : null;
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
