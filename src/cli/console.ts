/** What a person sees of a running loop: the agent's words on stdout, everything about the loop on stderr. */
import type { LoopReport } from '../loop/report.ts';
import { DEFAULT_POLICY } from '../loop/default-policy.ts';
import type { Effect } from '../loop/effect.ts';
import type { LoopEvent } from '../loop/event.ts';
import { openRun } from '../loop/run.ts';
import type { LoopState } from '../loop/state.ts';
import type { AgentEvent, LoopObserver, Mask, OwnedLoop } from '../loops/loops.ts';
import { checkLines } from '../loops/output.ts';
import { hideKeys, hideLikelyKeys } from '../loop/secrets.ts';
import { AgentLines, ProviderLines, maskedEvent } from '../text/agent-lines.ts';
import { lineOptions, stampIf } from './line-options.ts';
import { detailsFor, hintFor, linesAtStart, linesFor } from '../text/lines.ts';
import { statusLine, statusParts } from '../text/status-line.ts';
import type { ViewOptions } from './options.ts';
import { textsOf } from '../text/wording.ts';
import { paint, Screen } from './screen.ts';
import { oneLine } from '../text/one-line.ts';
import { asTyped } from './typed-name.ts';

/** Characters of a prompt that `--verbose` shows. */
const PREVIEW_CHARS = 200;

/** Longer than any secret. */
const MAX_SECRET_CHARS = 16 * 1024;

/** How much is shown of the output of a failed check. */
const CHECK_OUTPUT = { lines: 5, chars: 200 };

export class Console implements LoopObserver {
  readonly #spec: OwnedLoop['spec'];
  readonly #mask: Mask;
  readonly #options: ViewOptions;
  readonly #screen: Screen;
  readonly #lines: AgentLines;
  readonly #provider = new ProviderLines();
  #timer: NodeJS.Timeout | null = null;
  #state: LoopState | null = null;
  #report: LoopReport | null = null;
  #events = 0;
  #unparsed = 0;
  #hasHinted = false;
  #activeAt = Date.now();

  /** `mask` removes secrets from everything that is shown. */
  constructor(spec: OwnedLoop['spec'], options: ViewOptions, mask: Mask) {
    this.#spec = spec;
    this.#mask = mask;
    this.#options = options;
    this.#lines = new AgentLines(lineOptions(options, process.stderr), () => this.#activeAt);
    this.#screen = new Screen({
      quiet: options.quiet === true,
      mask,
      droppedText: `[… output dropped: the reader is too slow; all of it is in: ralph logs ${spec.name}]`,
      lostText: `the output of the agent is kept: ralph logs ${spec.name}`,
    });
    if (this.#screen.hasStatusLine) this.#timer = setInterval(() => this.#drawStatus(), 1000).unref();
  }

  agent(event: AgentEvent, at: number): void {
    this.#activeAt = at;
    this.#count(event);
    for (const line of this.#provider.lines(event)) this.status(line);
    if (this.#hidesAgent) return;
    this.#screen.words(this.#lines.words(event));
    if (event.type === 'text' || event.type === 'unknown') return;
    // Masked before its lines are cut. The line about the end of the run says why it failed.
    const shown = event.type === 'result' ? { ...event, error: null } : maskedEvent(event, this.#mask);
    for (const line of this.#lines.lines(shown)) this.line(line);
  }

  /** Counts an event that an earlier owner has shown. */
  recalled(event: AgentEvent): void {
    this.#count(event);
    this.#lines.recall(event);
  }

  complained(_run: unknown, chunk: Buffer): void {
    this.#activeAt = Date.now();
    if (!this.#hidesAgent) this.#screen.errors(chunk);
  }

  ready(): Promise<void> | undefined {
    return this.#screen.ready();
  }

  appended(event: LoopEvent, state: LoopState, report: LoopReport): void {
    this.#state = state;
    this.#report = report;
    if (event.type === 'run.started') {
      this.#lines.begin(event.at, state.policy.wording);
      this.#provider.begin();
    }
    // The time of a run that an earlier owner began counts from there.
    if (event.type === 'owner.changed') this.#lines.begin(openRun(state)?.plannedAt, state.policy.wording);
    if (event.type === 'run.ended' && this.#events > 0) {
      this.detail(`stream stats: ${this.#events} events, ${this.#unparsed} errors`);
    }
    if (event.type === 'run.ended') this.#events = this.#unparsed = 0;
    for (const line of detailsFor(event, state)) this.detail(line);
    for (const line of linesFor(event, state, report, this.#options.verbose)) this.status(line);
    if (event.type === 'check.finished' && event.result.code !== 0) this.#explainCheck(event, state);
    this.#drawStatus();
  }

  began(effect: Effect): void {
    for (const line of linesAtStart(effect, this.#state)) this.status(line);
    if (effect.type !== 'check') return;
    const { checkCommand } = textsOf((this.#state?.policy ?? DEFAULT_POLICY).wording);
    this.detail(checkCommand(hideKeys(effect.check.command)));
  }

  prompted(text: () => string): void {
    if (this.#options.verbose !== true) return;
    // Twice the length, since a character may be two UTF-16 units, and room for a secret at the end.
    const start = Array.from(this.#mask.text(text().slice(0, 2 * PREVIEW_CHARS + MAX_SECRET_CHARS)));
    this.detail(`Prompt: ${start.slice(0, PREVIEW_CHARS).join('')}`);
  }

  /** A line for `--verbose`. */
  detail(line: string): void {
    if (this.#options.verbose === true) this.line(`${this.#stamp()}${detail(line)}`);
  }

  /** A line about the loop. */
  status(line: string): void {
    // A warning is no progress report.
    if (this.#options.quiet === true && !line.startsWith('warning: ')) return;
    this.line(`${this.#stamp()}${paint('cyan', '[ralph]')} ${this.#spec.name}: ${oneLine(asTyped(line))}`);
  }

  /** Lines of errors and advice. */
  say(text: string): void {
    this.show(asTyped(text));
  }

  /** Lines as they are, also those that people have written. */
  show(text: string): void {
    for (const line of text.split('\n')) this.line(`${this.#stamp()}${line}`);
  }

  /** The columns that a line of the final report may have; unlimited without a terminal. */
  get width(): number {
    return process.stderr.isTTY ? (process.stderr.columns ?? Infinity) - this.#stamp().length : Infinity;
  }

  /** The lines of the screen; unlimited without a terminal. */
  get height(): number {
    return process.stderr.isTTY ? (process.stderr.rows ?? Infinity) : Infinity;
  }

  /** A line on stderr as it is, with `--quiet` too. */
  line(text: string): void {
    this.#screen.line(text);
    if (this.#screen.isShared) this.#lines.broken();
  }

  /** A record of the loop for programs, without secrets. */
  masked<T>(record: T): T {
    return this.#mask.value(record);
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#screen.close();
  }

  #stamp(): string {
    return stampIf(this.#options, this.#state?.policy.wording.datedStamps);
  }

  #count(event: AgentEvent): void {
    this.#events++;
    if (event.type === 'unknown') this.#unparsed++;
  }

  /** Prints the failing tests or the last lines of a failed check's output, and a hint the first time that one applies. */
  #explainCheck(event: Extract<LoopEvent, { type: 'check.finished' }>, state: LoopState): void {
    if (this.#options.quiet === true) return;
    const width = process.stderr.isTTY ? (process.stderr.columns ?? Infinity) - 5 : Infinity;
    const chars = Math.max(20, Math.min(CHECK_OUTPUT.chars, width));
    for (const line of checkLines(this.#spec, event.result, { ...CHECK_OUTPUT, chars }, this.#mask))
      this.line(`${this.#stamp()}${paint('dim', `  |  ${line}`)}`);
    const hint = this.#spec.worktree === undefined || this.#hasHinted ? null : hintFor(event, state);
    if (hint === null) return;
    this.#hasHinted = true;
    this.status(hint);
  }

  get #hidesAgent(): boolean {
    const { quiet, json, streamAgentOutput } = this.#options;
    // The line about the commit shows its message.
    const message = this.#state?.turn.messageRun ?? null;
    const isForMessage = message !== null && message.ended === null;
    // What a terminal gets is for a terminal: its window shows it.
    const isInteractive = this.#state?.policy.host === 'tmux';
    return quiet === true || json === true || streamAgentOutput === false || isForMessage || isInteractive;
  }

  #drawStatus(): void {
    if (!this.#screen.hasStatusLine || this.#state === null || this.#state.outcome !== null) return;
    const at = { now: Date.now(), activeAt: this.#activeAt };
    const parts = statusParts(this.#state, this.#report, at);
    this.#screen.status((room) => statusLine(this.#spec.name, parts, room));
  }
}

/** As document 001 prescribes: without the name of the loop, since some come before there is one. */
export function detailLine(line: string, options: ViewOptions, isDated?: boolean): string {
  return `${stampIf(options, isDated)}${detail(line)}`;
}

function detail(line: string): string {
  return `${paint('cyan', '[ralph]')} ${hideLikelyKeys(oneLine(line))}`;
}
