/**
 * The agent as a function of this program.
 *
 * 1. What it reports and what it comes to are lines in `stdout.log`, as the agent `scripted` prints them, and they are
 *    read from there: to everybody else it is a run like any other.
 * 2. A run that was started is never started again. With its program it is gone: what it has written until then is all
 *    there is, and nobody saw its status.
 * 3. One that does not end within the grace after its signal is left to itself; whatever it still says is not heard.
 * 4. After `stop` nothing is left that carries the run's marker: what it started with the run's environment is ended.
 */
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as begunToFollow } from 'node:timers/promises';
import { exitStatus, hasStarted, unknownBirth } from '../process/shim.ts';
import { killAll } from '../process/stop.ts';
import type { Marker, ProcessTable } from '../process/process-table.ts';
import { Tail } from '../process/tail.ts';
import type { Host, HostedRun } from './host.ts';

/** Runs agents as calls of a function; `describe` says what a run is made of. */
export function functionHost(
  describe: (run: string) => CallSpec,
  perform: Performer,
  table: ProcessTable,
): Host {
  return {
    outlivesOwner: false,
    async find({ run }) {
      const spec = describe(run);
      return hasStarted(spec.folder) ? hosted(spec, null, table) : null;
    },
    async start({ run }) {
      const spec = describe(run);
      mkdirSync(spec.folder, { recursive: true });
      // Only one can make it; the number of a process would say nothing here.
      writeFileSync(join(spec.folder, 'started'), '0\n', { flag: 'wx' });
      return hosted(spec, begin(run, spec, perform), table);
    },
  };
}

export interface CallSpec {
  /** Gets the output and the status. */
  readonly folder: string;
  readonly promptFile: string;
  readonly workspace: string;
  readonly env: Readonly<Record<string, string>>;
  readonly marker: Marker;
}

/** Does one run's work. It never throws: what goes wrong is a part of what it comes to. */
export type Performer = (call: Call) => Promise<Performed>;

export interface Call {
  readonly run: string;
  readonly prompt: string;
  readonly folder: string;
  readonly workspace: string;
  readonly env: Readonly<Record<string, string>>;
  /** Aborted when the run has to end. */
  readonly signal: AbortSignal;
  /** One line of what the agent `scripted` prints. */
  readonly report: (event: object) => void;
}

export interface Performed {
  readonly events: readonly object[];
  readonly complaint: string;
  readonly code: number;
}

/** A call that is going on. */
interface LiveCall {
  readonly over: Promise<void>;
  abort(): void;
  /** It is not heard any more. */
  leave(): void;
  /** Something was written. */
  onLine: (() => void) | null;
  isOver: boolean;
  status: number | null;
  /** Why something could not be written. */
  trouble: unknown;
}

function begin(run: string, spec: CallSpec, perform: Performer): LiveCall {
  const { folder, workspace, marker } = spec;
  const [output, complaints] = ['stdout.log', 'stderr.log'].map((name) => openSync(join(folder, name), 'a'));
  const aborter = new AbortController();
  let isHeard = true;
  const write = (descriptor: number | undefined, text: string): void => {
    if (!isHeard || descriptor === undefined || text === '') return;
    writeSync(descriptor, text);
    call.onLine?.();
  };
  const leave = (): void => {
    if (!isHeard) return;
    isHeard = false;
    for (const descriptor of [output, complaints]) if (descriptor !== undefined) closeSync(descriptor);
  };
  const work = async (): Promise<void> => {
    // By then whoever started it follows it: the first thing that it does may be to remove this folder.
    await begunToFollow();
    if (aborter.signal.aborted) return;
    const { events, complaint, code } = await perform({
      run,
      prompt: readFileSync(spec.promptFile, 'utf8'),
      folder,
      workspace,
      env: { ...spec.env, [marker.name]: marker.value },
      signal: aborter.signal,
      report: (event) => write(output, `${JSON.stringify(event)}\n`),
    });
    if (!isHeard) return;
    write(complaints, complaint);
    for (const event of events) write(output, `${JSON.stringify(event)}\n`);
    call.status = code;
    try {
      writeFileSync(join(folder, 'exit'), `${code}\n`);
    } catch {
      // Only for whoever comes after us; it may have removed the folder itself.
    }
  };
  const call: LiveCall = {
    over: Promise.resolve(),
    abort: () => aborter.abort(),
    leave,
    onLine: null,
    isOver: false,
    status: null,
    trouble: null,
  };
  const over = work()
    .catch((error: unknown) => {
      call.trouble = error;
    })
    .then(() => {
      call.isOver = true;
      return leave();
    });
  return Object.assign(call, { over });
}

/** `call` is null for one that is over, or gone with its program. */
function hosted(spec: CallSpec, call: LiveCall | null, table: ProcessTable): HostedRun {
  const { folder, marker } = spec;
  const tails: Tail[] = [];
  const look = (): void => {
    for (const tail of tails) tail.look();
  };
  let left: (() => void) | null = null;
  const abandoned = new Promise<void>((resolve) => {
    left = resolve;
  });
  return {
    // Never that of this process: whoever ends a run ends what its receipt names.
    receipt: unknownBirth(0),
    ended: call === null ? Promise.resolve() : Promise.race([call.over, abandoned]),
    follow(take) {
      for (const stream of ['stdout', 'stderr'] as const) {
        const tail = openTail(join(folder, `${stream}.log`), (chunk) => take(chunk, stream));
        if (tail !== null) tails.push(tail);
      }
      look();
      if (call !== null) call.onLine = look;
    },
    async stop(graceMs) {
      if (call !== null && !call.isOver) {
        call.abort();
        await within(call.over, graceMs);
        call.leave();
        left?.();
      }
      await killAll(() => table.marked(marker), graceMs);
      return [];
    },
    async close(rest) {
      if (call !== null) call.onLine = null;
      await Promise.all(tails.map((tail) => tail.close(rest)));
      if (call !== null && call.trouble !== null) throw call.trouble;
      return call === null ? exitStatus(folder) : call.status;
    },
    async detach() {
      throw new Error('a function ends with its program, so its run cannot be left to another owner');
    },
  };
}

function openTail(path: string, take: ConstructorParameters<typeof Tail>[2]): Tail | null {
  try {
    return new Tail(path, 0, take);
  } catch {
    // It was gone before it could say anything.
    return null;
  }
}

async function within(over: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([over, late]);
  clearTimeout(timer);
}
