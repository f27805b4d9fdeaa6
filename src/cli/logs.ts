import { sandboxRequests } from '../loops/here.ts';
import { dirname, join } from 'node:path';
import { parseWhole } from '../settings/values.ts';
import { type Mark, eventsIn } from '../loops/events.ts';
import type { LoopView, Loops } from '../loops/loops.ts';
import { type RunOf, runNamed } from '../loops/output.ts';
import { type Piece, type ReadRun, linesOf, nextPiece, piecesOf } from '../loops/told-run.ts';
import { UserError } from '../user-error.ts';
import { AgentLines, type LineOptions, runHeading } from '../text/agent-lines.ts';
import { presets } from '../loop/presets.ts';
import { homely } from '../text/one-line.ts';
import { LastLines, lastLinesOf } from '../text/last-lines.ts';
import { chosenLoop } from './chosen-loop.ts';
import { hall } from './hall.ts';
import { lineOptions } from './line-options.ts';
import type { ViewOptions } from './options.ts';
import { keepDaemonAwake } from '../background/background.ts';
import { Outlet } from '../text/outlet.ts';
import { obeysCommands } from '../text/workflow-commands.ts';
import { workspaceOf } from './workspace.ts';
import { explainError } from './errors.ts';
import { READER_IS_GONE, cannotPrint, warn, warnUnreadable } from './print.ts';

interface LogsOptions extends ViewOptions {
  readonly follow?: boolean;
  readonly history?: boolean;
  readonly lines?: string;
  readonly run?: string;
  readonly stderr?: boolean;
  readonly raw?: boolean;
  readonly full?: boolean;
  readonly cwd?: string;
}

/** `ralph logs`: prints what the agent said and did in all runs or in one, or follows the loop. */
export async function logs(named: string | null, options: LogsOptions): Promise<number> {
  const { run: asked, history = false, follow = false } = options;
  if (asked !== undefined && history)
    throw new UserError('--history prints all runs: drop it, or drop --run');
  const limit = options.lines === undefined ? null : parseWhole('--lines', options.lines, 1);
  const loops = hall();
  const loop = await loops.get(await chosenLoop(loops, named, workspaceOf(options), 'logs'));
  const { name } = loop;
  warnUnreadable(loop);
  process.stdout.on('error', leave);
  const runs = await loops.runs(loop);
  const isNight = runs.length > 1 && showsNight(loop, options);
  const output = new Output(loops, loop, { ...options, isNight }, limit ?? (history ? HISTORY_LINES : null));
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
  await output.show(history || isNight ? runs : [wanted]);
  output.flush();
  // On stderr, so that the output can be piped, and only if it could be written.
  await new Promise<void>((resolve) => {
    process.stdout.write('', (error) => {
      // A sandbox hides the file.
      if ((error === undefined || error === null) && sandboxRequests() === null) {
        const file = `${options.stderr === true ? 'stderr' : 'stdout'}.log`;
        const place = history || isNight ? dirname(wanted.folder) : join(wanted.folder, file);
        warn(`ralph: this output is in ${homely(place, process.env['HOME'])}\n`);
      }
      resolve();
    });
  });
  return 0;
}

/** Whether all runs are shown below headings, where no option asks for one run or for bytes as they are. */
function showsNight({ state }: LoopView, options: LogsOptions): boolean {
  const { follow, history, run, stderr, raw } = options;
  if (follow === true || history === true || run !== undefined || stderr === true || raw === true)
    return false;
  return presets[state.policy.preset].logsLastRun !== true;
}

/** Document 003's number of lines with `--history`. */
const HISTORY_LINES = 1000;

/** Shows the output of runs on stdout, or only its last lines. */
class Output {
  readonly #loops: Loops;
  readonly #loop: LoopView;
  readonly #what: 'stdout' | 'stderr';
  readonly #limit: number | null;
  readonly #isRaw: boolean;
  readonly #isNight: boolean;
  readonly #lineOptions: LineOptions;
  /** Whether the last shown line has ended. */
  #atLineStart = true;
  readonly #lines: AgentLines;
  /** When the shown run has ended: it then shows the time that it took, not the time until now. */
  #endedAt: number | null = null;
  #held: LastLines | null;
  /** How far its journal was read. */
  #mark: Mark | null = null;
  #hasEnded = false;

  constructor(
    loops: Loops,
    loop: LoopView,
    options: LogsOptions & { readonly isNight: boolean },
    limit: number | null,
  ) {
    this.#loops = loops;
    this.#loop = loop;
    this.#what = options.stderr === true ? 'stderr' : 'stdout';
    this.#limit = limit;
    this.#isRaw = options.raw === true;
    this.#isNight = options.isNight;
    this.#lineOptions = {
      ...lineOptions(options, process.stdout),
      tools: !options.isNight || options.full === true,
    };
    this.#lines = new AgentLines(this.#lineOptions, () => this.#endedAt ?? Date.now());
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
    if (this.#isNight) this.#write(this.#headingOf(run));
    const { part, outlet } = this.#begin(run);
    for await (const shown of piecesOf(this.#loops, part)) this.#write(outlet.read(shown));
    this.#write(outlet.end());
  }

  #headingOf({ run, startedAt, endedAt }: RunOf): string {
    return `${this.#atLineStart ? '' : '\n'}${this.#lineOptions.paint('bold', runHeading(run, startedAt, endedAt))}\n`;
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
    const { part, outlet } = this.#begin(run);
    // What it has printed until now is the past.
    let wait = 1;
    for (let from: Piece['next'] | null = null; ;) {
      // oxlint-disable-next-line no-await-in-loop -- one piece after the other
      const piece: Piece = await nextPiece(this.#loops, part, from, { wait });
      this.#write(outlet.read(piece.shown));
      from = piece.next;
      if (piece.after === 'more') continue;
      this.flush();
      // oxlint-disable-next-line no-await-in-loop -- as above
      if (piece.after === 'end' || (piece.shown.length === 0 && (await this.#rests(0)))) {
        // oxlint-disable-next-line no-await-in-loop -- once
        const rest = piece.after === 'end' ? null : await nextPiece(this.#loops, part, from);
        this.#write(outlet.read(rest?.shown ?? ''));
        this.#write(outlet.read(linesOf(part)?.endLine() ?? ''));
        return this.#write(outlet.end());
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
        const page = await this.#loops.events(this.#loop, { from: this.#mark }, { wait });
        this.#mark = page.next;
        const last = eventsIn(page).at(-1);
        if (last !== undefined) this.#hasEnded = last.type === 'loop.ended';
        if (page.after !== 'more') return page.after === 'rest' || this.#hasEnded;
      }
    } catch (error) {
      // It was removed, or its journal cannot be read any more.
      if (error instanceof UserError) return true;
      throw error;
    }
  }

  #begin({ run, startedAt, endedAt }: RunOf): { readonly part: ReadRun; readonly outlet: Outlet } {
    this.#endedAt = endedAt;
    this.#lines.begin(startedAt ?? undefined, this.#loop.state.policy.wording);
    const outlet = new Outlet(null, {
      isTerminal: process.stdout.isTTY,
      isJob: obeysCommands(process.env),
      isRaw: this.#isRaw,
    });
    const lines = this.#isRaw ? null : this.#lines;
    return { part: { loop: this.#loop, run, what: this.#what, lines }, outlet };
  }

  /** Shows the lines that were held, and everything after them. */
  flush(): void {
    const held = this.#held?.take();
    this.#held = null;
    if (held !== undefined) process.stdout.write(held);
  }

  #write(text: string | Buffer): void {
    const last = text.at(-1);
    if (last !== undefined) this.#atLineStart = last === '\n' || last === NEWLINE;
    if (this.#held === null) process.stdout.write(text);
    else this.#held.add(text);
  }
}

const NEWLINE = 0x0a;

/** How often a run is looked at that prints nothing. */
const LOOK_EVERY_MS = 1000;

/** Exits at once if stdout takes nothing: what is left to print is lost anyway. */
function leave(error: NodeJS.ErrnoException): void {
  process.exit(READER_IS_GONE.has(error.code) ? 0 : explainError(cannotPrint(error)));
}
