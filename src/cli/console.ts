/**
 * What a person sees of a running loop: the agent's words on the standard output, everything about it on the standard
 * error, and on a terminal one line that says how it stands.
 *
 * 1. A reader that goes away (`| head -1`, a closed terminal) is no reason to stop.
 * 2. The agent's words cannot move the cursor, change the title or clear the screen of a terminal.
 */
import { fstatSync } from 'node:fs';
import { resolve } from 'node:path';
import type { AgentEvent } from '../agents/agent.ts';
import type { Effect } from '../loop/effect.ts';
import type { LoopEvent } from '../loop/event.ts';
import type { LoopReport } from '../loop/report.ts';
import type { LoopState } from '../loop/state.ts';
import { openRun } from '../loop/run.ts';
import { endOf } from '../store/excerpts.ts';
import type { LoopObserver } from '../owner/observer.ts';
import type { OwnedLoop } from '../owner/owner.ts';
import { hideKeys, hideLikelyKeys } from '../store/secrets.ts';
import { duration } from '../journal/times.ts';
import { AgentLines } from './agent-lines.ts';
import { lineOptions, painter } from './line-options.ts';
import { detailsFor, hintFor, lineAtStart, linesFor } from './lines.ts';
import type { ViewOptions } from './options.ts';
import { ProviderLines } from './provider-lines.ts';
import { stamp } from './stamp.ts';
import { Harmless, harmless, oneLine } from './terminal.ts';

/** Colour for the standard error. */
export const paint: ReturnType<typeof painter> = painter(process.stderr);

/** Bytes that may wait for a slow reader. */
const MOST_WAITING = 8 * 1024 * 1024;

/** How much of a prompt is shown. */
const PREVIEW = 200;

/** How long one that does not read at all is waited for. */
const PATIENCE_MS = 5000;

/** How much of what a failed check has printed is shown. */
const END = { lines: 5, chars: 200 };

export class Console implements LoopObserver {
  readonly #spec: OwnedLoop['spec'];
  readonly #mask: (text: string) => string;
  readonly #options: ViewOptions;
  readonly #hasLine: boolean;
  readonly #isOnePlace: boolean = isOnePlace();
  #timer: NodeJS.Timeout | null = null;
  #state: LoopState | null = null;
  #report: LoopReport | null = null;
  #isDrawn = false;
  #events = 0;
  #unknown = 0;
  #isStalled = false;
  #hasColour = false;
  #atLineStart = true;
  /** The same for the standard output, where that is another place. */
  #wordsAtLineStart = true;
  #hasHinted = false;
  #activeAt = Date.now();
  readonly #leftOut = new Set<NodeJS.WriteStream>();
  readonly #words = new Harmless();
  readonly #complaints = new Harmless();
  readonly #lines: AgentLines;
  readonly #provider = new ProviderLines();

  /** `mask` makes what a check has printed fit to be shown. */
  constructor(spec: OwnedLoop['spec'], options: ViewOptions, mask: (text: string) => string) {
    this.#spec = spec;
    this.#mask = mask;
    this.#options = options;
    this.#lines = new AgentLines(lineOptions(options, process.stderr));
    const { stderr, env } = process;
    const isCI = env['CI'] !== undefined && env['CI'] !== '' && env['CI'] !== 'false';
    this.#hasLine =
      stderr.isTTY && options.quiet !== true && !isCI && env['TERM'] !== 'dumb' && (stderr.columns ?? 0) > 20;
    // Whoever reads what we print may go away at any time.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
    if (this.#hasLine) this.#timer = setInterval(() => this.#draw(), 1000).unref();
  }

  agent(event: AgentEvent): void {
    this.#activeAt = Date.now();
    this.#events++;
    if (event.type === 'unknown') this.#unknown++;
    for (const line of this.#provider.lines(event)) this.status(line);
    if (this.#hidesAgent) return;
    this.#say(this.#lines.words(event));
    // Why a run has failed is told with what the loop makes of it.
    const shown = event.type === 'result' ? { ...event, error: null } : event;
    for (const line of this.#lines.lines(shown)) this.line(line);
  }

  /** Neither is it activity, nor is it said again. */
  recalled(event: AgentEvent): void {
    this.#events++;
    if (event.type === 'unknown') this.#unknown++;
    this.#lines.recall(event);
  }

  complained(_run: unknown, chunk: Buffer): void {
    this.#activeAt = Date.now();
    if (this.#hidesAgent) return;
    this.#erase();
    const text = process.stderr.isTTY ? this.#complaints.read(chunk) : Buffer.from(chunk);
    this.#write(process.stderr, text);
    this.#hasColour ||= process.stderr.isTTY && text.includes('\u001B');
    if (text.length > 0) this.#atLineStart = text.at(-1) === '\n' || text.at(-1) === 10;
  }

  /**
   * Output waits for a reader that is slower than the agent, where it costs nothing: in its file. One that has not read
   * for a while is not waited for.
   */
  ready(): Promise<void> | undefined {
    const { stdout } = process;
    if (this.#isStalled || !stdout.writableNeedDrain || stdout.destroyed) return undefined;
    return new Promise((whenDone) => {
      const go = (): void => {
        clearTimeout(timer);
        stdout.off('drain', go).off('close', go);
        whenDone();
      };
      const timer = setTimeout(() => {
        this.#isStalled = true;
        stdout.once('drain', () => {
          this.#isStalled = false;
        });
        go();
      }, PATIENCE_MS);
      stdout.on('drain', go).on('close', go);
    });
  }

  appended(event: LoopEvent, state: LoopState, report: LoopReport): void {
    this.#state = state;
    this.#report = report;
    if (event.type === 'run.started') {
      this.#lines.begin(event.at);
      this.#provider.begin();
    }
    // What another owner has begun is counted from there.
    if (event.type === 'owner.changed') this.#lines.begin(openRun(state)?.plannedAt);
    if (event.type === 'run.ended' && this.#events > 0) {
      this.detail(`stream stats: ${this.#events} events, ${this.#unknown} errors`);
    }
    if (event.type === 'run.ended') this.#events = this.#unknown = 0;
    for (const line of detailsFor(event, state)) this.detail(line);
    for (const line of linesFor(event, state, report, this.#options.verbose)) this.status(line);
    if (event.type === 'check.finished' && event.result.code !== 0) this.#explainCheck(event, state);
    this.#draw();
  }

  /** What a failed check has said last, and once what it may be missing. */
  #explainCheck(event: Extract<LoopEvent, { type: 'check.finished' }>, state: LoopState): void {
    if (this.#options.quiet === true) return;
    const width = process.stderr.isTTY ? (process.stderr.columns ?? Infinity) - 5 : Infinity;
    const log = resolve(this.#spec.workspace, event.result.log);
    for (const line of endOf(log, { ...END, chars: Math.max(20, Math.min(END.chars, width)) }, this.#mask))
      this.line(`${this.#stamp()}${paint('dim', `  |  ${line}`)}`);
    const hint = this.#spec.worktree === undefined || this.#hasHinted ? null : hintFor(event, state);
    if (hint === null) return;
    this.#hasHinted = true;
    this.status(hint);
  }

  began(effect: Effect): void {
    const line = lineAtStart(effect);
    if (line !== null) this.status(line);
    if (effect.type === 'check') this.detail(`Running guardrail: ${hideKeys(effect.check.command)}`);
  }

  prompted(text: () => string): void {
    if (this.#options.verbose !== true) return;
    this.detail(
      `Prompt: ${Array.from(text().slice(0, 2 * PREVIEW))
        .slice(0, PREVIEW)
        .join('')}`,
    );
  }

  /** A line for whoever wants to know it all. */
  detail(line: string): void {
    if (this.#options.verbose === true) this.line(detailLine(line, this.#options));
  }

  /** A line of our own. */
  status(line: string): void {
    if (this.#options.quiet === true) return;
    this.line(
      `${this.#stamp()}${paint('cyan', '[ralph]')} ${this.#spec.name}: ${hideLikelyKeys(oneLine(line))}`,
    );
  }

  /** A line on the standard error, whatever else is there. */
  line(text: string): void {
    this.#erase();
    this.#reset();
    if (!this.#atLineStart) this.#write(process.stderr, '\n');
    this.#atLineStart = true;
    if (this.#isOnePlace) this.#lines.broken();
    const shown = process.stderr.isTTY ? harmless(text) : text;
    // A colour that nobody has ended ends here.
    this.#write(
      process.stderr,
      `${shown}${process.stderr.isTTY && shown.includes('\u001B') ? '\u001B[0m' : ''}\n`,
    );
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#erase();
    this.#reset();
    if (!this.#atLineStart) this.#write(process.stderr, '\n');
    this.#atLineStart = true;
    if (!this.#wordsAtLineStart) this.#write(process.stdout, '\n');
    this.#wordsAtLineStart = true;
  }

  get #hidesAgent(): boolean {
    const { quiet, json, streamAgentOutput } = this.#options;
    // Of a commit message the commit tells.
    const message = this.#state?.turn.messageRun ?? null;
    const isForMessage = message !== null && message.ended === null;
    return quiet === true || json === true || streamAgentOutput === false || isForMessage;
  }

  #stamp(): string {
    return stampIf(this.#options);
  }

  #say(text: string): void {
    if (text === '') return;
    this.#erase();
    const shown = process.stdout.isTTY ? this.#words.read(text) : text;
    this.#write(process.stdout, shown);
    this.#hasColour ||= process.stdout.isTTY && shown.includes('\u001B');
    // Only where both go to the same place does one have to mind the other's unfinished line.
    if (shown === '') return;
    if (this.#isOnePlace) this.#atLineStart = shown.endsWith('\n');
    else this.#wordsAtLineStart = shown.endsWith('\n');
  }

  /** Memory must not grow with what a slow reader does not take: that is left out, and said. */
  #write(stream: NodeJS.WriteStream, content: string | Buffer): void {
    if (stream.destroyed) return;
    if (stream.writableLength < MOST_WAITING) {
      if (this.#leftOut.delete(stream))
        stream.write(`\n[… left out: this was not read fast enough; ralph logs ${this.#spec.name} has it]\n`);
      stream.write(content);
    } else this.#leftOut.add(stream);
  }

  #draw(): void {
    if (!this.#hasLine || !this.#atLineStart || this.#state === null || this.#state.outcome !== null) return;
    const { iteration, turn, policy, now } = this.#state;
    const limit = policy.limits.iterations;
    const started = this.#report?.startedAt ?? now;
    const passed = turn.checks.filter((result) => result?.code === 0).length;
    const parts = [
      `iteration ${iteration}${limit === null ? '' : `/${limit}`}`,
      duration(Math.max(0, Date.now() - started), ' '),
      `last activity ${duration(Math.max(0, Date.now() - this.#activeAt), ' ')} ago`,
      turn.checksStarted ? `checks ${passed}/${turn.checks.length}` : null,
    ].filter((part) => part !== null);
    const line = `${this.#spec.name}: ${parts.join(' · ')}`.slice(0, (process.stderr.columns ?? 80) - 4);
    this.#reset();
    this.#write(process.stderr, `\r\u001B[K${paint('dim', line)}`);
    this.#isDrawn = true;
  }

  /** The agent's colours end with its words. */
  #reset(): void {
    if (!this.#hasColour) return;
    this.#hasColour = false;
    for (const stream of [process.stdout, process.stderr]) if (stream.isTTY) this.#write(stream, '\u001B[0m');
  }

  #erase(): void {
    if (!this.#isDrawn) return;
    this.#write(process.stderr, '\r\u001B[K');
    this.#isDrawn = false;
  }
}

/** As document 001 has them: without the name of the loop, since some come before there is one. */
export function detailLine(line: string, options: ViewOptions): string {
  return `${stampIf(options)}${paint('cyan', '[ralph]')} ${hideLikelyKeys(oneLine(line))}`;
}

function stampIf({ timestamps }: ViewOptions): string {
  return timestamps === true ? stamp(Date.now()) : '';
}

/** Whether both outputs go to the same terminal, file or pipe. */
function isOnePlace(): boolean {
  try {
    const [out, errors] = [fstatSync(1), fstatSync(2)];
    return out.dev === errors.dev && out.ino === errors.ino;
  } catch {
    return false;
  }
}
