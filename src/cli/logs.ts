import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseWhole } from '../config/values.ts';
import { maskOf, type Mask } from '../store/mask.ts';
import type { LoopReading } from '../store/read-loop.ts';
import { agentSink, followRun, runsOf, type LogSink } from '../loops/follow-run.ts';
import { RunTimes } from '../loops/run-times.ts';
import { UserError } from '../user-error.ts';
import { AgentLines, maskedEvent } from '../text/agent-lines.ts';
import { homely } from '../text/one-line.ts';
import { LastLines, lastLinesOf } from '../text/last-lines.ts';
import { lineOptions } from './line-options.ts';
import type { ViewOptions } from './options.ts';
import { keepDaemonAwake } from '../daemon/wake-daemon.ts';
import { findLoop } from '../loops/find.ts';
import { Outlet } from '../text/outlet.ts';
import { obeysCommands } from '../text/workflow-commands.ts';
import { warnUnreadable } from './print.ts';
import { workspaceOf } from './workspace.ts';
import { explainError } from './errors.ts';
import { cannotPrint, READER_IS_GONE, warn } from './print.ts';

interface LogsOptions extends ViewOptions {
  readonly follow?: boolean;
  readonly history?: boolean;
  readonly lines?: string;
  readonly run?: string;
  readonly stderr?: boolean;
  readonly raw?: boolean;
  readonly cwd?: string;
}

/** `ralph logs`: prints what the agent said and did in one run or in all of them, or follows the loop. */
export async function logs(name: string, options: LogsOptions): Promise<number> {
  const { run: asked, history = false, follow = false } = options;
  if (asked !== undefined && history)
    throw new UserError('--history prints all runs: drop it, or drop --run');
  const limit = options.lines === undefined ? null : parseWhole('--lines', options.lines, 1);
  const loop = findLoop(workspaceOf(options), name);
  warnUnreadable(loop);
  process.stdout.on('error', leave);
  const file = options.stderr === true ? 'stderr.log' : 'stdout.log';
  const output = new Output(loop, options, limit ?? (history ? HISTORY_LINES : null));
  const runs = runsOf(loop.folder);
  const wanted = asked === undefined ? runs.at(-1) : runs.find((run) => isRun(run.name, asked));
  if (asked !== undefined && wanted === undefined) {
    const known = runs.map((run) => run.name).join(', ');
    throw new UserError(`loop ${name} has no run ${asked}${runs.length === 0 ? '' : ` (runs: ${known})`}`);
  }
  if (follow && asked === undefined) {
    output.show(history ? runs.slice(0, -1) : [], file);
    output.holdUntil(wanted === undefined ? 0 : sizeOf(join(wanted.path, file)));
    const stopWaking = keepDaemonAwake();
    await followRun(loop.folder, file, (path) => output.sinkFor(path));
    stopWaking();
    output.flush();
    return 0;
  }
  if (wanted === undefined) {
    warn(`ralph: loop ${name} has not run an agent yet\n`);
    return 0;
  }
  output.show(history ? runs : [wanted], file);
  output.flush();
  // On stderr, so that the output can be piped, and only if it could be written.
  await new Promise<void>((resolve) => {
    process.stdout.write('', (error) => {
      if (error === undefined || error === null)
        warn(
          `ralph: this output is in ${homely(history ? dirname(wanted.path) : join(wanted.path, file), process.env['HOME'])}\n`,
        );
      resolve();
    });
  });
  return 0;
}

/** Document 003's number of lines with `--history`. */
const HISTORY_LINES = 1000;

/** Shows the output of runs on stdout, or only its last lines. */
class Output {
  readonly #loop: LoopReading;
  readonly #times: RunTimes;
  readonly #limit: number | null;
  readonly #mask: Mask;
  readonly #isParsed: boolean;
  readonly #isRaw: boolean;
  readonly #lines: AgentLines;
  /** When the shown run has ended: it then shows the time that it took, not the time until now. */
  #endedAt: number | null = null;
  #held: LastLines | null;
  /** How many bytes of the followed run still belong to the past. */
  #past = Infinity;

  constructor(loop: LoopReading, options: LogsOptions, limit: number | null) {
    this.#loop = loop;
    this.#times = new RunTimes(loop);
    this.#limit = limit;
    this.#mask = maskOf(loop.spec);
    this.#isRaw = options.raw === true;
    this.#isParsed = !this.#isRaw && options.stderr !== true;
    this.#lines = new AgentLines(lineOptions(options, process.stdout), () => this.#endedAt ?? Date.now());
    this.#held = limit === null ? null : new LastLines(limit);
  }

  /** Shows what these runs have printed, or holds the last lines of it. */
  show(runs: readonly { readonly path: string }[], file: string): void {
    const showRun = ({ path }: { readonly path: string }): void =>
      print(join(path, file), this.sinkFor(path));
    if (this.#limit === null) return runs.forEach(showRun);
    this.#held = lastLinesOf(this.#limit, runs, (run, lines) => {
      this.#held = lines;
      showRun(run);
    });
  }

  sinkFor(path: string): LogSink {
    const times = this.#times.of(path);
    this.#endedAt = times.endedAt;
    this.#lines.begin(times.startedAt ?? undefined);
    const outlet = new Outlet(this.#mask, {
      isTerminal: process.stdout.isTTY,
      isJob: obeysCommands(process.env),
      isRaw: this.#isRaw,
    });
    const show = (chunk: string | Buffer): void => this.#write(outlet.read(chunk));
    const read = this.#isParsed
      ? agentSink(this.#loop.spec.agent.kind, path, (event) =>
          show(this.#lines.all(maskedEvent(event, this.#mask))),
        )
      : null;
    return {
      take: (chunk) => {
        if (read === null) show(chunk);
        else read.take(chunk);
        this.#past -= chunk.length;
        if (this.#past <= 0) this.flush();
      },
      end: () => {
        if (read !== null) {
          // The output of a run that has not ended is incomplete, which is no failure.
          if (this.#times.of(path).endedAt !== null) read.end();
          show(this.#lines.endLine());
        }
        this.#write(outlet.end());
      },
    };
  }

  /** From now on, everything after the first bytes of the next run is new and shown as it comes. */
  holdUntil(bytes: number): void {
    this.#past = bytes;
    if (bytes <= 0) this.flush();
  }

  /** Shows the lines that were held, and everything after them. */
  flush(): void {
    const held = this.#held?.take();
    this.#held = null;
    if (held !== undefined) process.stdout.write(held);
  }

  #write(text: string | Buffer): void {
    if (this.#held === null) process.stdout.write(text);
    else this.#held.add(text);
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Exits at once if stdout takes nothing: what is left to print is lost anyway. */
function leave(error: NodeJS.ErrnoException): void {
  process.exit(READER_IS_GONE.has(error.code) ? 0 : explainError(cannotPrint(error)));
}

/** `7` and `0007` are the first run of the seventh iteration, `7.2` the second. */
function isRun(name: string, wanted: string): boolean {
  return name.replace(/^0+/, '') === wanted.replace(/^0+/, '').replace(/\.1$/, '');
}

function print(path: string, sink: LogSink): void {
  if (!existsSync(path)) return;
  const descriptor = openSync(path, 'r');
  const buffer = Buffer.allocUnsafe(256 * 1024);
  for (let count = readSync(descriptor, buffer); count > 0; count = readSync(descriptor, buffer)) {
    sink.take(Buffer.from(buffer.subarray(0, count)));
  }
  sink.end();
  closeSync(descriptor);
}
