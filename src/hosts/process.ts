/**
 * Runs the agent as a process on this machine, behind a shim (`process/shim.ts`).
 *
 * 1. Whatever happens to the owner, the agent continues and its exit status is written; `find` reattaches to it.
 * 2. A run is recognised by its exit file, by a receipt that matches completely, or by its marker, in this order. A receipt
 *    that only a file has, and not the journal, counts only for a process with the run's marker: a wrong one must not make
 *    Ralph end another program.
 * 3. A run that was started is never started again.
 * 4. After `stop` no process with the marker or of the process group is left.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PRIVATE_FOLDER, makeFolders } from '../files/files.ts';
import { findCommand } from '../process/command.ts';
import { shellQuote } from '../loop/shell-quote.ts';
import type { Wrapper } from '../process/sandboxed.ts';
import { exitStatus, hasStarted, shimPid, startShim } from '../process/shim.ts';
import { unknownBirth, type Birth, type Marker } from '../process/process-table.ts';
import { turn } from '../process/turns.ts';
import { NotStarted, type Host, type HostedRun } from './host.ts';
import { ProcessRun, readReceipt } from './process-run.ts';
import { processes, type Environment } from '../process/process.ts';

/** Runs agents as processes; `describe` returns the spec of a run. */
export function processHost(describe: (run: string) => ProcessSpec): Host {
  return {
    outlivesOwner: true,
    async find({ run, receipt }) {
      return find(describe(run), receipt);
    },
    async start({ run }) {
      return start(describe(run));
    },
  };
}

export interface ProcessSpec {
  /** For the output, the receipt and the exit status. */
  readonly folder: string;
  /** Called only when the run is started. */
  readonly argv: () => readonly string[];
  readonly cwd: string;
  readonly env: Environment;
  /** The file for its stdin; null for empty input. */
  readonly stdin: string | null;
  readonly marker: Marker;
  /** Puts the agent into a sandbox, called when the run is started with the path of its program; throws `NotStarted`. */
  readonly sandbox?: ((program: string) => Promise<Wrapper>) | undefined;
}

async function start(spec: ProcessSpec): Promise<HostedRun> {
  const { folder, cwd, env, marker, stdin } = spec;
  const argv = resolveCommand(spec);
  makeFolders(folder, PRIVATE_FOLDER);
  const sandbox = (await spec.sandbox?.(argv[0])) ?? null;
  // A start blocks this process for a moment, and the agents of many loops may start together.
  await turn();
  const command = {
    folder,
    argv,
    cwd,
    env: { ...env, [marker.name]: marker.value },
    stdin: stdin !== null && existsSync(stdin) ? stdin : null,
    stdout: join(folder, 'stdout.log'),
    stderr: join(folder, 'stderr.log'),
    sandbox,
  };
  const shim = await startShim(command, processes);
  return new ProcessRun(spec, shim.birth, shim.ended, () => shim.release());
}

/** The command line with the path of its program; throws `NotStarted` if it cannot work. */
export function resolveCommand({
  argv,
  cwd,
  env,
}: Pick<ProcessSpec, 'argv' | 'cwd' | 'env'>): readonly [string, ...string[]] {
  const [name = '', ...args] = argv();
  if (!existsSync(cwd)) {
    const message = `cannot start the agent: its working directory ${cwd} does not exist; restore it and try again`;
    throw new NotStarted({ kind: 'invalid-configuration', message });
  }
  const command = findCommand(name, env['PATH'] ?? '', cwd);
  if (command.found === 'nothing') {
    const where = name.includes('/') ? `relative paths start at ${cwd}` : 'searched PATH';
    const message = `agent command not found: ${name} (${where}); install it or correct its path`;
    throw new NotStarted({ kind: 'command-not-found', message });
  }
  if (command.found === 'not-executable') {
    const message = `agent command is not executable: ${command.path}; run: chmod +x ${shellQuote(command.path)}`;
    throw new NotStarted({ kind: 'not-executable', message });
  }
  const tooLong = args
    .map((argument) => Buffer.byteLength(argument))
    .find((size) => size > MAX_ARGUMENT_BYTES);
  if (tooLong !== undefined) {
    const message = `an argument of the agent command has ${tooLong} bytes (maximum ${MAX_ARGUMENT_BYTES}); pass the prompt with --prompt-via stdin or --prompt-via file`;
    throw new NotStarted({ kind: 'invalid-configuration', message });
  }
  return [command.path, ...args];
}

/** The limit of Linux for one argument; other systems allow more. */
const MAX_ARGUMENT_BYTES = 128 * 1024 - 1;

async function find(spec: ProcessSpec, journaled: Birth | null): Promise<HostedRun | null> {
  const { folder } = spec;
  const written = confirmed(readReceipt(folder), spec.marker);
  const receipt = journaled ?? written;
  if (exitStatus(folder) !== null) {
    return new ProcessRun(spec, receipt ?? unknownBirth(shimPid(folder) ?? 0), ENDED);
  }
  for (const birth of [journaled, written]) {
    if (birth !== null && processes.lives(birth)) return new ProcessRun(spec, birth, null);
  }
  const marked = await findMarked(spec);
  const pid = shimPid(folder);
  if (marked.length > 0) {
    const shim = pid !== null && marked.includes(pid) ? processes.birth(pid) : null;
    return new ProcessRun(spec, shim ?? receipt ?? unknownBirth(0), null);
  }
  if (receipt === null && !hasStarted(folder)) return null;
  return new ProcessRun(spec, receipt ?? unknownBirth(pid ?? 0), ENDED);
}

/** A receipt from a file, or only its pid if the process with this birth is gone or is not of this run. */
function confirmed(written: Birth | null, marker: Marker): Birth | null {
  if (written === null) return null;
  const isOurs = processes.lives(written) && processes.carries(written.pid, marker) !== false;
  return isOurs ? written : unknownBirth(written.pid);
}

/** The run has already ended, and its shim is not our child. */
const ENDED = Promise.resolve(null);

/** Processes with the marker. Waits for a shim that was just started until it has written its pid. */
async function findMarked({ folder, marker }: ProcessSpec): Promise<readonly number[]> {
  for (let looks = 0; ; looks++) {
    // oxlint-disable-next-line no-await-in-loop -- it is not our child, so there is no event
    const marked = await processes.marked(marker);
    if (marked.length === 0 || shimPid(folder) !== null || looks > 200) return marked;
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(5);
  }
}
