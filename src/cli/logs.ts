import { dirname, join } from 'node:path';
import { parseWhole } from '../config/values.ts';
import type { Mark } from '../loops/events.ts';
import { agentSink } from '../loops/follow-loop.ts';
import { localLoops } from '../loops/local-loops.ts';
import type { Loops, LoopView } from '../loops/loops.ts';
import { piecesOf, runNamed, type RunOf } from '../loops/output.ts';
import { maskOf, type Mask } from '../store/mask.ts';
import { UserError } from '../user-error.ts';
import { AgentLines, maskedEvent } from '../text/agent-lines.ts';
import { homely } from '../text/one-line.ts';
import { LastLines, lastLinesOf } from '../text/last-lines.ts';
import { lineOptions } from './line-options.ts';
import type { ViewOptions } from './options.ts';
import { keepDaemonAwake } from '../daemon/wake-daemon.ts';
import { Outlet } from '../text/outlet.ts';
import { obeysCommands } from '../text/workflow-commands.ts';
import { workspaceOf } from './workspace.ts';
import { explainError } from './errors.ts';
import { cannotPrint, READER_IS_GONE, warn, warnUnreadable } from './print.ts';

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
  const loops = localLoops();
  const loop = await loops.get(await loops.find(name, workspaceOf(options)));
  warnUnreadable(loop);
  process.stdout.on('error', leave);
  const output = new Output(loops, loop, options, limit ?? (history ? HISTORY_LINES : null));
  const runs = await loops.runs(loop);
  const wanted = asked === undefined ? runs.at(-1) : runNamed(name, runs, asked);
  if (follow && asked === undefined) {
    await output.show(history ? runs.slice(0, -1) : []);
    const stopWaking = keepDaemonAwake();
    await output.follow(wanted ?? null);
    stopWaking();
    output.flush();
    return 0;
  }
  if (wanted === undefined) {
    warn(`ralph: loop ${name} has not run an agent yet\n`);
    return 0;
  }
  await output.show(history ? runs : [wanted]);
  output.flush();
  // On stderr, so that the output can be piped, and only if it could be written.
  await new Promise<void>((resolve) => {
    process.stdout.write('', (error) => {
      if (error === undefined || error === null) {
        const file = `${options.stderr === true ? 'stderr' : 'stdout'}.log`;
        const place = history ? dirname(wanted.folder) : join(wanted.folder, file);
        warn(`ralph: this output is in ${homely(place, process.env['HOME'])}\n`);
      }
      resolve();
    });
  });
  return 0;
}

/** Document 003's number of lines with `--history`. */
const HISTORY_LINES = 1000;

/** Shows the output of runs on stdout, or only its last lines. */
class Output {
  readonly #loops: Loops;
  readonly #loop: LoopView;
  readonly #what: 'stdout' | 'stderr';
  readonly #limit: number | null;
  readonly #mask: Mask;
  readonly #isRaw: boolean;
  readonly #lines: AgentLines;
  /** When the shown run has ended: it then shows the time that it took, not the time until now. */
  #endedAt: number | null = null;
  #held: LastLines | null;
  /** How far its journal was read. */
  #mark: Mark | null = null;
  #hasEnded = false;

  constructor(loops: Loops, loop: LoopView, options: LogsOptions, limit: number | null) {
    this.#loops = loops;
    this.#loop = loop;
    this.#what = options.stderr === true ? 'stderr' : 'stdout';
    this.#limit = limit;
    this.#mask = maskOf(loop);
    this.#isRaw = options.raw === true;
    this.#lines = new AgentLines(lineOptions(options, process.stdout), () => this.#endedAt ?? Date.now());
    this.#held = limit === null ? null : new LastLines(limit);
  }

  /** Shows what these runs have printed, or holds the last lines of it. */
  async show(runs: readonly RunOf[]): Promise<void> {
    // oxlint-disable-next-line no-await-in-loop -- in their order
    if (this.#limit === null) for (const run of runs) await this.#show(run);
    else
      this.#held = await lastLinesOf(this.#limit, runs, async (run, lines) => {
        this.#held = lines;
        await this.#show(run);
      });
  }

  async #show(run: RunOf): Promise<void> {
    const sink = this.#sinkFor(run);
    for await (const piece of piecesOf(this.#loops, this.#loop, run.run, this.#what)) sink.take(piece);
    sink.end(run.endedAt !== null);
  }

  /** Shows the output of this run and of those after it, until the loop ends or has no owner. */
  async follow(first: RunOf | null): Promise<void> {
    for (let run = first; ;) {
      // oxlint-disable-next-line no-await-in-loop -- one run after the other
      if (run !== null) await this.#followRun(run);
      this.flush();
      // oxlint-disable-next-line no-await-in-loop -- as above
      run = await this.#runAfter(run);
      if (run === null) return;
    }
  }

  async #followRun(run: RunOf): Promise<void> {
    const sink = this.#sinkFor(run);
    // What it has printed until now is the past.
    let wait = 1;
    for (let from = 0; ;) {
      // oxlint-disable-next-line no-await-in-loop -- one piece after the other
      const chunk = await this.#loops.output(this.#loop, run.run, this.#what, { from, wait });
      sink.take(Buffer.from(chunk.data, 'base64'));
      from = chunk.next;
      if (chunk.after === 'more') continue;
      this.flush();
      // oxlint-disable-next-line no-await-in-loop -- as above
      const isOver = chunk.after === 'end' || (chunk.data === '' && (await this.#rests(0)));
      if (isOver) {
        // oxlint-disable-next-line no-await-in-loop -- once
        const rest = await this.#loops.output(this.#loop, run.run, this.#what, { from });
        if (rest.from === from) sink.take(Buffer.from(rest.data, 'base64'));
        return sink.end(chunk.after === 'end');
      }
      wait = LOOK_EVERY_MS;
    }
  }

  /** The run after this one; null if the loop ends or loses its owner before. */
  async #runAfter(run: RunOf | null): Promise<RunOf | null> {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- until there is one
      const rests = await this.#rests(LOOK_EVERY_MS);
      // oxlint-disable-next-line no-await-in-loop -- as above
      const runs = await this.#loops.runs(this.#loop);
      const next = runs[run === null ? 0 : runs.findIndex((one) => one.run === run.run) + 1];
      if (next !== undefined && next.startedAt !== null) return next;
      if (rests) return null;
    }
  }

  /** Whether no process drives the loop; waits for news of it. */
  async #rests(wait: number): Promise<boolean> {
    try {
      for (;;) {
        // oxlint-disable-next-line no-await-in-loop -- one page after the other
        const page = await this.#loops.events(this.#loop, { from: this.#mark, wait });
        this.#mark = page.next;
        if (page.events.length > 0) this.#hasEnded = page.events.at(-1)?.type === 'loop.ended';
        if (page.after !== 'more') return page.after === 'rest' || this.#hasEnded;
      }
    } catch (error) {
      // It was removed, or its journal cannot be read any more.
      if (error instanceof UserError) return true;
      throw error;
    }
  }

  #sinkFor({ folder, startedAt, endedAt }: RunOf): Sink {
    this.#endedAt = endedAt;
    this.#lines.begin(startedAt ?? undefined);
    const outlet = new Outlet(this.#mask, {
      isTerminal: process.stdout.isTTY,
      isJob: obeysCommands(process.env),
      isRaw: this.#isRaw,
    });
    const show = (chunk: string | Buffer): void => this.#write(outlet.read(chunk));
    const isParsed = !this.#isRaw && this.#what === 'stdout';
    const read = isParsed
      ? agentSink(this.#loop.spec?.agent.kind ?? 'custom', folder, (event) =>
          show(this.#lines.all(maskedEvent(event, this.#mask))),
        )
      : null;
    return {
      take: (bytes) => {
        if (read === null) show(bytes);
        else read.take(bytes);
      },
      end: (hasEnded) => {
        if (read !== null) {
          // The output of a run that has not ended is incomplete, which is no failure.
          if (hasEnded) read.end();
          show(this.#lines.endLine());
        }
        this.#write(outlet.end());
      },
    };
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

/** Takes the pieces of a run's output. */
interface Sink {
  take(bytes: Buffer): void;
  end(hasEnded: boolean): void;
}

/** How often a run is looked at that prints nothing. */
const LOOK_EVERY_MS = 1000;

/** Exits at once if stdout takes nothing: what is left to print is lost anyway. */
function leave(error: NodeJS.ErrnoException): void {
  process.exit(READER_IS_GONE.has(error.code) ? 0 : explainError(cannotPrint(error)));
}
