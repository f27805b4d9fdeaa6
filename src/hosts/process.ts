/**
 * The agent as a process of this machine, behind a shim (`process/shim.ts`).
 *
 * 1. Whatever happens to the harness, the agent goes on and its status is written; `find` comes back to it.
 * 2. A run is recognised by its exit file, by a receipt of which everything matches, or by its marker, in this order.
 * 3. A run that was started is never started again.
 * 4. After `stop` nothing is left that carries the marker or belongs to the group.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findCommand } from '../process/command.ts';
import { birthOf, exitStatus, hasStarted, shimPid, startShim, unknownBirth } from '../process/shim.ts';
import { stopRun } from '../process/stop.ts';
import type { Birth, Marker, ProcessTable } from '../process/process-table.ts';
import { Tail } from '../process/tail.ts';
import { watchFolder } from '../process/watch.ts';
import { NotStarted, type Host, type HostedRun } from './host.ts';

/** Runs agents as processes; `describe` says what a run is made of. */
export function processHost(describe: (run: string) => ProcessSpec, table: ProcessTable): Host {
  return {
    outlivesOwner: true,
    async find({ run, receipt }) {
      return find(describe(run), receipt, table);
    },
    async start({ run }) {
      return start(describe(run), table);
    },
  };
}

export interface ProcessSpec {
  /** Gets the output, the receipt and the status. */
  readonly folder: string;
  /** Asked for only when it is started. */
  readonly argv: () => readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The file on its standard input; null for an empty one. */
  readonly stdin: string | null;
  readonly marker: Marker;
}

function start(spec: ProcessSpec, table: ProcessTable): HostedRun {
  const { folder, cwd, env, marker, stdin } = spec;
  const argv = spec.argv();
  const [name = '', ...more] = argv;
  if (!existsSync(cwd)) {
    throw new NotStarted({ kind: 'invalid-configuration', message: `the folder ${cwd} is not there` });
  }
  const command = findCommand(name, env['PATH'] ?? '', cwd);
  if (command.found === 'nothing') {
    const message = `agent command not found: ${name} (looked in PATH from ${cwd})`;
    throw new NotStarted({ kind: 'command-not-found', message });
  }
  if (command.found === 'not-executable') {
    const message = `agent command is not executable: ${command.path} (chmod +x it)`;
    throw new NotStarted({ kind: 'not-executable', message });
  }
  if (!existsSync(folder)) mkdirSync(folder, { recursive: true });
  if (more.some((argument) => Buffer.byteLength(argument) > LONGEST_ARGUMENT)) {
    const message = `the prompt is too long for an argument (at most ${LONGEST_ARGUMENT} bytes); let it come by the standard input or a file`;
    throw new NotStarted({ kind: 'invalid-configuration', message });
  }
  const shim = startShim({
    folder,
    argv: [command.path, ...more],
    cwd,
    env: { ...env, [marker.name]: marker.value },
    stdin: stdin !== null && existsSync(stdin) ? stdin : null,
    stdout: join(folder, 'stdout.log'),
    stderr: join(folder, 'stderr.log'),
  });
  const birth = birthOf(shim, table);
  return hosted(spec, birth, shim.ended, table, () => shim.release());
}

/** What Linux takes in one piece; others take more. */
const LONGEST_ARGUMENT = 128 * 1024 - 1;

async function find(spec: ProcessSpec, known: Birth | null, table: ProcessTable): Promise<HostedRun | null> {
  const { folder } = spec;
  const written = readReceipt(folder);
  if (exitStatus(folder) !== null) {
    return hosted(spec, known ?? written ?? unknownBirth(shimPid(folder) ?? 0), OVER, table);
  }
  const receipt = [known, written].find((birth) => birth !== null && table.lives(birth));
  if (receipt !== undefined && receipt !== null) return hosted(spec, receipt, null, table);

  const marked = await settled(spec, table);
  const pid = shimPid(folder);
  if (marked.length > 0) {
    const shim = pid !== null && marked.includes(pid) ? table.birth(pid) : null;
    const birth = shim ?? known ?? written ?? unknownBirth(0);
    return hosted(spec, birth, null, table);
  }
  if (known === null && written === null && !hasStarted(folder)) return null;
  return hosted(spec, known ?? written ?? unknownBirth(pid ?? 0), OVER, table);
}

/** Ended before we came. */
const OVER = Promise.resolve(null);

/** Who carries the marker, once a shim that has only just been started has got as far as to say so. */
async function settled({ folder, marker }: ProcessSpec, table: ProcessTable): Promise<readonly number[]> {
  for (let looks = 0; ; looks++) {
    const marked = table.marked(marker);
    if (marked.length === 0 || shimPid(folder) !== null || looks > 200) return marked;
    // oxlint-disable-next-line no-await-in-loop -- it is not our child, so nobody tells us
    await sleep(5);
  }
}

/** `ended` gives the status; it is null for a process that is not our child. */
function hosted(
  spec: ProcessSpec,
  birth: Birth,
  ended: Promise<number | null> | null,
  table: ProcessTable,
  release: () => void = () => {},
): HostedRun {
  const { folder, cwd, marker } = spec;
  const swept = { shim: birth, marker, folder: cwd };
  const tails: Tail[] = [];
  const look = (): void => {
    for (const tail of tails) tail.look();
  };
  const isOver = (): boolean =>
    exitStatus(folder) !== null || (!table.lives(birth) && table.left(swept).pids.length === 0);
  let stopWatching: (() => void) | null = null;
  const adopted = ended === null ? waitUntil(folder, isOver) : null;
  let status: number | null = null;
  const over = (async () => {
    status = (await (ended ?? adopted?.over)) ?? null;
  })();

  const letGo = async (rest: 'read' | 'leave'): Promise<void> => {
    stopWatching?.();
    adopted?.forget();
    await Promise.all(tails.map((tail) => tail.close(rest)));
  };

  return {
    receipt: birth,
    ended: over,
    follow(take) {
      for (const stream of ['stdout', 'stderr'] as const) {
        const path = join(folder, `${stream}.log`);
        if (existsSync(path)) tails.push(new Tail(path, 0, (chunk) => take(chunk, stream)));
      }
      const timer = setTimeout(() => {
        writeReceipt(folder, birth);
        stopWatching = watchFolder(folder, look);
        look();
      }, QUICK_MS);
      stopWatching = () => clearTimeout(timer);
    },
    async stop(graceMs) {
      const { strays } = await stopRun({ ...swept, graceMs }, table);
      await over;
      return strays;
    },
    async detach() {
      // The next owner finds the run by this file where the journal has no receipt yet.
      writeReceipt(folder, birth);
      release();
      await letGo('leave');
    },
    async close(rest) {
      await letGo(rest);
      // A shim that could not begin has a status of its own, which is not the agent's.
      const isAgents = hasStarted(folder) || !existsSync(folder);
      return exitStatus(folder) ?? (isAgents ? status : null);
    },
  };
}

function waitUntil(folder: string, isOver: () => boolean): { over: Promise<void>; forget: () => void } {
  let forget: (() => void) | null = null;
  const over = new Promise<void>((resolve) => {
    const look = (): void => {
      if (!isOver()) return;
      forget?.();
      resolve();
    };
    forget = watchFolder(folder, look);
    look();
  });
  return { over, forget: () => forget?.() };
}

/** For whoever finds the run without its journal. */
function writeReceipt(folder: string, birth: Birth): void {
  try {
    writeFileSync(join(folder, 'receipt.json'), `${JSON.stringify(birth)}\n`);
  } catch {
    // The journal has it, and the marker finds it.
  }
}

/** A run that is over by then is neither watched nor looked for. */
const QUICK_MS = 15;

function readReceipt(folder: string): Birth | null {
  try {
    const value: unknown = JSON.parse(readFileSync(join(folder, 'receipt.json'), 'utf8'));
    if (typeof value !== 'object' || value === null) return null;
    const { pid, startTime, bootId, pidNamespace } = value as Partial<Birth>;
    if (pid === undefined || startTime === undefined || bootId === undefined || pidNamespace === undefined)
      return null;
    return { pid, startTime, bootId, pidNamespace };
  } catch {
    return null;
  }
}
