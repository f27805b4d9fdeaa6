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
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs';
import { makeFolders, openRegular, PRIVATE_FILE, PRIVATE_FOLDER, readRegular } from '../files/files.ts';
import { SHIM_NAME, unknownBirth, type Birth, type ProcessTable } from './process-table.ts';
import { RUN_IN_NAMESPACE, wrapped, type Wrapper } from './sandboxed.ts';
import { join } from 'node:path';
import type { Environment } from './process.ts';

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
  readonly env: Environment;
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

/** The exit status that the shim wrote; null while there is none, and for a text that no shim writes. */
export function exitStatus(folder: string): number | null {
  const path = join(folder, 'exit');
  // Asked again and again while the agent runs, and checking is much cheaper than catching what `open` throws.
  const status = existsSync(path) ? readNumber(path) : null;
  return status !== null && status <= MAX_STATUS ? status : null;
}

/** A status is one byte. */
const MAX_STATUS = 255;

/** Notes that a run without a shim starts in this folder. The file is made exclusively, so that the run starts at most once. */
export function noteStart(folder: string): void {
  makeFolders(folder, PRIVATE_FOLDER);
  // There is no process to name, hence 0.
  writeFileSync(join(folder, 'started'), '0\n', { flag: 'wx', mode: PRIVATE_FILE });
}

/** Whether a run was ever started in this folder. */
export function hasStarted(folder: string): boolean {
  return existsSync(join(folder, 'started'));
}

/** The pid that the shim wrote; the owner may have died before it could record it. */
export function shimPid(folder: string): number | null {
  const pid = readNumber(join(folder, 'started'));
  return pid !== null && pid > 0 ? pid : null;
}

/** The number in a complete line; null for anything else, since every process can write the file. */
function readNumber(path: string): number | null {
  try {
    const text = readRegular(path, MAX_BYTES)?.toString('latin1') ?? '';
    return /^\d{1,10}\n$/.test(text) ? Number(text) : null;
  } catch {
    return null;
  }
}

const MAX_BYTES = 100;
