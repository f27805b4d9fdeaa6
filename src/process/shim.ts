/**
 * The agent's parent process: a small POSIX shell in its own session. It outlives the owner of the loop, and the files that
 * it writes are all that a later owner needs.
 *
 * 1. First it creates the file `started` exclusively: the same folder runs at most once, however often it is started.
 * 2. Its traps only keep it alive: a signal to the group ends the agent, and the shim still writes the exit status. It does
 *    not ignore the signals, because the agent would inherit that. The agent runs in the foreground, because a background
 *    process would inherit an ignored SIGINT.
 * 3. Input and output are files, so no process blocks on a pipe that another one holds. The shell's own messages ("Killed")
 *    are discarded: the files contain only the agent's output.
 * 4. `exit` is complete once it ends with a newline. An exit code of 143 cannot be distinguished from a SIGTERM, so the status is
 *    only a number.
 * 5. In a sandbox, `exit` is written once nothing that the agent has started is left (`sandboxed.ts`).
 */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Birth, ProcessTable } from './process-table.ts';
import { RUN_IN_NAMESPACE, wrapped, type Wrapper } from './sandboxed.ts';

const BEFORE = `
set -C
{ echo $$ >"$1/started"; } 2>/dev/null || exit 125
set +C
trap : HUP INT QUIT TERM
case "$RALPH_UMASK" in "" | *[!0-7]*) ;; *) umask "$RALPH_UMASK" ;; esac
ralph_dir=$1
shift
exec 3>&2 2>/dev/null
`;
const RUN = `
(exec "$@" 2>&3 3>&-)
ralph_status=$?
`;
const AFTER = `
echo $ralph_status >"$ralph_dir/exit"
exit $ralph_status
`;

/** Starts the shim; throws if the shell cannot be started. Read its birth before the first `await`. */
export function startShim(spec: ShimSpec): Shim {
  const descriptors = [
    openSync(spec.stdin ?? '/dev/null', 'r'),
    openSync(spec.stdout, 'a'),
    openSync(spec.stderr, 'a'),
  ];
  try {
    const { sandbox = null } = spec;
    const script = `${BEFORE}${sandbox?.kind === 'namespace' ? RUN_IN_NAMESPACE : RUN}${AFTER}`;
    const argv = sandbox === null ? spec.argv : wrapped(sandbox, spec.argv);
    const child = spawn('/bin/sh', ['-c', script, 'ralph-shim', spec.folder, ...argv], {
      cwd: spec.cwd,
      env: spec.env,
      stdio: descriptors,
      detached: true,
    });
    let startError: Error | null = null;
    child.once('error', (error) => {
      startError = error;
    });
    if (child.pid === undefined)
      throw startError ?? new Error(`cannot start /bin/sh in ${spec.cwd}; check that this folder exists`);
    const ended = new Promise<number | null>((resolve) => {
      child.once('exit', (code) => resolve(code));
    });
    return { pid: child.pid, ended, release: () => child.unref() };
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

export interface ShimSpec {
  /** For the files `started`, with the shim's pid, and `exit`. */
  readonly folder: string;
  /** The program with its path (a bare name might be a shell builtin), and its arguments. */
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** A file; null for empty input. */
  readonly stdin: string | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Absent or null for none. */
  readonly sandbox?: Wrapper | null | undefined;
}

export interface Shim {
  readonly pid: number;
  /**
   * Resolves when the shim has exited, to the agent's exit code; null if the shim itself was killed. The file `exit` has it
   * too, unless the folder was deleted.
   */
  readonly ended: Promise<number | null>;
  /** Lets this process exit before the shim does. */
  release(): void;
}

/** The birth of a shim that was just started. Read it before the first `await`: a quick shim may be gone after it. */
export function birthOf({ pid }: Shim, table: ProcessTable): Birth {
  return table.birth(pid) ?? unknownBirth(pid);
}

/** The birth of a process of which only the pid is known; it never counts as alive. */
export function unknownBirth(pid: number): Birth {
  return { pid, startTime: '', bootId: '', pidNamespace: '' };
}

/** The exit status that the shim wrote; null while there is none. */
export function exitStatus(folder: string): number | null {
  const text = readOrNull(join(folder, 'exit'));
  return text !== null && text.endsWith('\n') ? Number(text) : null;
}

/** Whether a shim was ever started in this folder. */
export function hasStarted(folder: string): boolean {
  return existsSync(join(folder, 'started'));
}

/** The pid that the shim wrote; the owner may have died before it could record it. */
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
