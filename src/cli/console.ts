/**
 * What a person sees of a running loop: the agent's words on the standard output, everything about it on the standard
 * error, and on a terminal one line that says how it stands.
 *
 * 1. A reader that goes away (`| head -1`, a closed terminal) is no reason to stop.
 * 2. The agent's words cannot move the cursor, change the title or clear the screen of a terminal.
 */
import { fstatSync } from 'node:fs';
import type { Account, AgentEvent, Effect, LoopEvent, LoopState } from '../index.ts';
import type { Viewer } from '../compose/owned-loop.ts';
import { hideKeys, hideLikelyKeys } from '../compose/secrets.ts';
import { duration } from '../compose/times.ts';
import { AgentLines } from './agent-lines.ts';
import { lineOptions, painter } from './line-options.ts';
import { detailsFor, lineAtStart, linesFor } from './lines.ts';
import type { ViewOptions } from './options.ts';
import { Harmless, harmless, oneLine } from './terminal.ts';

/** Colour for the standard error. */
export const paint: ReturnType<typeof painter> = painter(process.stderr);

/** Bytes that may wait for a slow reader. */
const MOST_WAITING = 8 * 1024 * 1024;

/** How much of a prompt is shown. */
const PREVIEW = 200;

/** How long one that does not read at all is waited for. */
const PATIENCE_MS = 5000;

export class Console implements Viewer {
  readonly #name: string;
  readonly #options: ViewOptions;
  readonly #hasLine: boolean;
  readonly #isOnePlace: boolean = isOnePlace();
  #timer: NodeJS.Timeout | null = null;
  #state: LoopState | null = null;
  #account: Account | null = null;
  #isDrawn = false;
  #events = 0;
  #unknown = 0;
  #isStalled = false;
  #hasColour = false;
  #atLineStart = true;
  #activeAt = Date.now();
  readonly #leftOut = new Set<NodeJS.WriteStream>();
  readonly #words = new Harmless();
  readonly #complaints = new Harmless();
  readonly #lines: AgentLines;

  constructor(name: string, options: ViewOptions) {
    this.#name = name;
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
    for (const line of aboutProvider(event)) this.status(line);
    if (this.#hidesAgent) return;
    this.#say(this.#lines.words(event));
    for (const line of this.#lines.lines(event)) this.line(line);
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
    return new Promise((resolve) => {
      const go = (): void => {
        clearTimeout(timer);
        stdout.off('drain', go).off('close', go);
        resolve();
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

  seen(event: LoopEvent, state: LoopState, account: Account): void {
    this.#state = state;
    this.#account = account;
    if (event.type === 'run.started') this.#lines.begin();
    if (event.type === 'run.ended' && this.#events > 0) {
      this.detail(`stream stats: ${this.#events} events, ${this.#unknown} errors`);
    }
    if (event.type === 'run.ended') this.#events = this.#unknown = 0;
    for (const line of detailsFor(event, state)) this.detail(line);
    for (const line of linesFor(event, state, account)) this.status(line);
    this.#draw();
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
    if (this.#options.verbose === true) this.line(detailLine(line));
  }

  /** A line of our own. */
  status(line: string): void {
    if (this.#options.quiet === true) return;
    this.line(`${paint('cyan', '[ralph]')} ${this.#name}: ${hideLikelyKeys(oneLine(line))}`);
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
  }

  get #hidesAgent(): boolean {
    const { quiet, json, streamAgentOutput } = this.#options;
    // Of a commit message the commit tells.
    const message = this.#state?.turn.messageRun ?? null;
    const isForMessage = message !== null && message.ended === null;
    return quiet === true || json === true || streamAgentOutput === false || isForMessage;
  }

  #say(text: string): void {
    if (text === '') return;
    this.#erase();
    const shown = process.stdout.isTTY ? this.#words.read(text) : text;
    this.#write(process.stdout, shown);
    this.#hasColour ||= process.stdout.isTTY && shown.includes('\u001B');
    // Only where both go to the same place does one have to mind the other's unfinished line.
    if (this.#isOnePlace && shown !== '') this.#atLineStart = shown.endsWith('\n');
  }

  /** Memory must not grow with what a slow reader does not take: that is left out, and said. */
  #write(stream: NodeJS.WriteStream, content: string | Buffer): void {
    if (stream.destroyed) return;
    if (stream.writableLength < MOST_WAITING) {
      if (this.#leftOut.delete(stream))
        stream.write(`\n[… left out: this was not read fast enough; ralph logs ${this.#name} has it]\n`);
      stream.write(content);
    } else this.#leftOut.add(stream);
  }

  #draw(): void {
    if (!this.#hasLine || !this.#atLineStart || this.#state === null || this.#state.outcome !== null) return;
    const { iteration, turn, policy, now } = this.#state;
    const limit = policy.limits.iterations;
    const started = this.#account?.startedAt ?? now;
    const passed = turn.checks.filter((result) => result?.code === 0).length;
    const parts = [
      `iteration ${iteration}${limit === null ? '' : `/${limit}`}`,
      duration(Math.max(0, Date.now() - started), ' '),
      `last activity ${duration(Math.max(0, Date.now() - this.#activeAt), ' ')} ago`,
      turn.checksStarted ? `checks ${passed}/${turn.checks.length}` : null,
    ].filter((part) => part !== null);
    const line = `${this.#name}: ${parts.join(' · ')}`.slice(0, (process.stderr.columns ?? 80) - 4);
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

/** What happens between the agent and its provider: the loop's business, not the agent's words. */
function aboutProvider(event: AgentEvent): readonly string[] {
  switch (event.type) {
    case 'retry': {
      const of = event.most === null ? '' : ` of ${event.most}`;
      const wait = event.waitMs === null ? '' : `, again in ${duration(event.waitMs, ' ')}`;
      return [`no answer from the provider (${event.error.message}): try ${event.attempt}${of}${wait}`];
    }
    case 'limit':
      return [`the provider says: ${event.message}`];
    case 'denied':
      return [`the agent was not allowed to use ${event.tool}: ${event.message.split('\n', 1)[0] ?? ''}`];
    case 'text':
    case 'thought':
    case 'tool.start':
    case 'tool.end':
    case 'todo':
    case 'progress':
    case 'result':
    case 'unknown':
      return [];
  }
}

/** As document 001 has them: without the name of the loop, since some come before there is one. */
export function detailLine(line: string): string {
  return `${paint('cyan', '[ralph]')} ${hideLikelyKeys(oneLine(line))}`;
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
