/**
 * Runs the agent as a function of this program.
 *
 * 1. What it reports and returns are lines in `stdout.log`, as the agent `scripted` prints them, and they are read from
 *    there: for the rest of Ralph it is a run like any other.
 * 2. A run that was started is never started again. When its program exits, the run is over: there is only what it has
 *    written until then, and no exit status.
 * 3. A function that does not end within the grace after its signal is abandoned; whatever it reports later is ignored.
 * 4. After `stop` no process with the run's marker is left: everything that was started with the run's environment is
 *    ended.
 */
import { join } from 'node:path';
import type { StrayProcess } from '../loop/receipt.ts';
import { exitStatus, hasStarted, noteStart } from '../process/shim.ts';
import { killAll } from '../process/stop.ts';
import { processes } from '../process/process.ts';
import { unknownBirth } from '../process/process-table.ts';
import { Tail } from '../process/tail.ts';
import { FunctionCall, type CallSpec, type Performer } from './function-call.ts';
import type { Host, HostedRun, OutputStream } from './host.ts';

/** Runs agents as function calls; `describe` returns the spec of a run. */
export function functionHost(describe: (run: string) => CallSpec, perform: Performer): Host {
  return {
    outlivesOwner: false,
    async find({ run }) {
      const spec = describe(run);
      return hasStarted(spec.folder) ? new FunctionRun(spec, null) : null;
    },
    async start({ run }) {
      const spec = describe(run);
      noteStart(spec.folder);
      return new FunctionRun(spec, new FunctionCall(run, spec, perform));
    },
  };
}

class FunctionRun implements HostedRun {
  /** Never the pid of this process: stopping a run ends the process that its receipt names. */
  readonly receipt: HostedRun['receipt'] = unknownBirth(0);
  readonly isOfEarlierBoot = false;
  readonly ended: Promise<void>;
  readonly #spec: CallSpec;
  readonly #call: FunctionCall | null;
  readonly #tails: Tail[] = [];
  #abandon: () => void = () => {};

  /** `call` is null for a run of another program, or of an earlier start of this one. */
  constructor(spec: CallSpec, call: FunctionCall | null) {
    this.#spec = spec;
    this.#call = call;
    const abandoned = new Promise<void>((resolve) => {
      this.#abandon = resolve;
    });
    this.ended = call === null ? Promise.resolve() : Promise.race([call.over, abandoned]);
  }

  follow(take: (chunk: Buffer, stream: OutputStream) => void | Promise<void>): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      const tail = openTail(join(this.#spec.folder, `${stream}.log`), (chunk) => take(chunk, stream));
      if (tail !== null) this.#tails.push(tail);
    }
    this.#look();
    if (this.#call !== null) this.#call.onOutput = () => this.#look();
  }

  async stop(graceMs: number, spared: readonly number[] = []): Promise<readonly StrayProcess[]> {
    const call = this.#call;
    if (call !== null && !call.isOver) {
      call.abort();
      await settledWithin(call.over, graceMs);
      call.abandon();
      this.#abandon();
    }
    const { marker, workspace: folder } = this.#spec;
    const run = { shim: unknownBirth(0), marker, folder, spared };
    await killAll(async () => (await processes.left(run)).pids, graceMs);
    return [];
  }

  async close(rest: 'read' | 'leave'): Promise<number | null> {
    const call = this.#call;
    if (call !== null) call.onOutput = null;
    await Promise.all(this.#tails.map((tail) => tail.close(rest)));
    if (call === null) return exitStatus(this.#spec.folder);
    if (call.failure !== null) throw call.failure;
    return call.status;
  }

  async detach(): Promise<void> {
    throw new Error('a function ends with its program, so its run cannot be left to another owner');
  }

  #look(): void {
    for (const tail of this.#tails) tail.look();
  }
}

function openTail(path: string, onChunk: ConstructorParameters<typeof Tail>[2]): Tail | null {
  try {
    return new Tail(path, 0, onChunk);
  } catch {
    // The run ended before it could create the file.
    return null;
  }
}

async function settledWithin(over: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([over, timeout]);
  clearTimeout(timer);
}
