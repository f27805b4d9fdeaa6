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
 * 5. Its own files are readable for this user only; the agent gets the umask that the loop was started with.
 * 6. In a sandbox, `exit` is written once nothing that the agent has started is left (`sandboxed.ts`).
 * 7. A command that no later owner adopts has a shim without files: its exit code is that of the command.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { openRegular } from '../files/files.ts';
import { SHIM_NAME, unknownBirth, type Birth, type ProcessTable } from './process-table.ts';
import { RUN_IN_NAMESPACE, wrapped, type Wrapper } from './sandboxed.ts';

const OWN_UMASK = `
ralph_umask=$RALPH_UMASK
unset RALPH_UMASK
umask 077
`;
const MARK_START = `
set -C
{ echo $$ >"$1/started"; } 2>/dev/null || exit 125
set +C
`;
const STAY_ALIVE = `
trap : HUP INT QUIT TERM
ralph_dir=$1
shift
exec 3>&2 2>/dev/null
`;
const RUN = `
(umask "$ralph_umask"; exec "$@" 2>&3 3>&-)
ralph_status=$?
`;
const WRITE_STATUS = `
echo $ralph_status >"$ralph_dir/exit"
`;
const EXIT = `
exit $ralph_status
`;

/** Starts the shim; rejects with the error of the system if the shell cannot be started. */
export async function startShim(spec: ShimSpec, table: Pick<ProcessTable, 'birth'>): Promise<Shim> {
  const descriptors = openFiles(spec);
  try {
    const [shell, ...args] = shimCommand(spec);
    const child = spawn(shell, args, {
      cwd: spec.cwd,
      env: shimEnvironment(spec.env),
      stdio: [...descriptors],
      detached: true,
    });
    if (child.pid === undefined) throw await whyNot(child, spec.cwd);
    const ended = new Promise<number | null>((resolve) => {
      child.once('exit', (code) => resolve(code));
    });
    // At once: a quick shim may be gone after the next `await`.
    const birth = table.birth(child.pid) ?? unknownBirth(child.pid);
    return { birth, ended, release: () => child.unref() };
  } finally {
    closeFiles(descriptors);
  }
}

/** Opens stdin, stdout and stderr of a command. */
function openFiles({ stdin, stdout, stderr }: ShimSpec): readonly number[] {
  const opened: number[] = [];
  const open = (descriptor: number): number => {
    opened.push(descriptor);
    return descriptor;
  };
  try {
    return [
      open(stdin === null ? openSync('/dev/null', 'r') : openRegular(stdin, 'read')),
      open(openRegular(stdout, 'append')),
      open(openRegular(stderr, 'append')),
    ];
  } catch (error) {
    closeFiles(opened);
    throw error;
  }
}

function closeFiles(descriptors: readonly number[]): void {
  for (const descriptor of descriptors) closeSync(descriptor);
}

/** The command line of the shim itself, for a host that starts it in another way. */
export function shimCommand({
  folder,
  argv,
  sandbox = null,
  hasFiles = true,
}: Pick<ShimSpec, 'folder' | 'argv' | 'sandbox' | 'hasFiles'>): readonly [string, ...string[]] {
  const run = sandbox?.kind === 'namespace' ? RUN_IN_NAMESPACE : RUN;
  const script = hasFiles
    ? [OWN_UMASK, MARK_START, STAY_ALIVE, run, WRITE_STATUS, EXIT]
    : [OWN_UMASK, STAY_ALIVE, run, EXIT];
  return [
    '/bin/sh',
    '-c',
    script.join(''),
    SHIM_NAME,
    folder,
    ...(sandbox === null ? argv : wrapped(sandbox, argv)),
  ];
}

/** The environment of the shim; the agent gets the same without the umask. */
export function shimEnvironment(env: ShimSpec['env']): Readonly<Record<string, string>> {
  return { ...env, RALPH_UMASK: umaskOf(env) };
}

/** Node.js reports the error of the system after the call. A folder that is gone looks like a shell that is. */
async function whyNot(child: ChildProcess, cwd: string): Promise<Error> {
  const error = await new Promise<Error>((resolve) => {
    child.once('error', resolve);
  });
  return existsSync(cwd) ? error : new Error(`cannot start /bin/sh in ${cwd}; check that this folder exists`);
}

/** The agent's umask: the one in the environment, else the one of this process. The shim's own files are private. */
function umaskOf(env: ShimSpec['env']): string {
  const { RALPH_UMASK: given = '' } = env;
  return /^[0-7]{1,4}$/.test(given) ? given : process.umask().toString(8);
}

export interface ShimSpec {
  /** For the files `started`, with the shim's pid, and `exit`. */
  readonly folder: string;
  /** False for a command that no later owner adopts and that has no namespace: then the folder need not exist. */
  readonly hasFiles?: boolean;
  /** The program with its path (a bare name might be a shell builtin), and its arguments. */
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Null for empty input. */
  readonly stdin: string | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Absent or null for none. */
  readonly sandbox?: Wrapper | null | undefined;
}

export interface Shim {
  readonly birth: Birth;
  /**
   * Resolves when the shim has exited, to the agent's exit code; null if the shim itself was killed. The file `exit` has it
   * too, unless the folder was deleted.
   */
  readonly ended: Promise<number | null>;
  /** Lets this process exit before the shim does. */
  release(): void;
}
