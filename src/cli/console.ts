/**
 * What a person sees of a running loop: the agent's words on the standard output, everything about it on the standard
 * error, and on a terminal one line that says how it stands.
 *
 * 1. A reader that goes away (`| head -1`, a closed terminal) is no reason to stop.
 * 2. The agent's words cannot move the cursor, change the title or clear the screen of a terminal.
 */
import { styleText } from 'node:util';
import type { AgentEvent, LoopEvent, LoopState } from '../index.ts';
import type { Account } from '../index.ts';
import type { Viewer } from '../compose/owned-loop.ts';
import { duration } from '../compose/times.ts';
import { linesFor } from './lines.ts';
import type { ViewOptions } from './options.ts';

export class Console implements Viewer {
  readonly #name: string;
  readonly #options: ViewOptions;
  readonly #hasLine: boolean;
  #timer: NodeJS.Timeout | null = null;
  #state: LoopState | null = null;
  #account: Account | null = null;
  #isDrawn = false;
  #atLineStart = true;
  #activeAt = Date.now();

  constructor(name: string, options: ViewOptions) {
    this.#name = name;
    this.#options = options;
    const { stderr, env } = process;
    const isCI = env['CI'] !== undefined && env['CI'] !== '' && env['CI'] !== 'false';
    this.#hasLine =
      stderr.isTTY && options.quiet !== true && !isCI && env['TERM'] !== 'dumb' && (stderr.columns ?? 0) > 20;
    if (this.#hasLine) this.#timer = setInterval(() => this.#draw(), 1000).unref();
  }

  agent(event: AgentEvent): void {
    this.#activeAt = Date.now();
    const { quiet, json, streamAgentOutput } = this.#options;
    if (quiet === true || json === true || streamAgentOutput === false) return;
    if (event.type === 'text') this.#say(event.text);
    else for (const line of describe(event)) this.status(line);
  }

  output(_run: unknown, chunk: Buffer, stream: 'stdout' | 'stderr'): void {
    this.#activeAt = Date.now();
    const { quiet, json, streamAgentOutput } = this.#options;
    if (stream === 'stdout' || quiet === true || json === true || streamAgentOutput === false) return;
    this.#erase();
    const text = chunk.toString('utf8');
    write(process.stderr, process.stderr.isTTY ? harmless(text) : text);
    this.#atLineStart = text.endsWith('\n');
  }

  seen(event: LoopEvent, state: LoopState, account: Account): void {
    this.#state = state;
    this.#account = account;
    for (const line of linesFor(event, state, account, this.#options.verbose === true)) this.status(line);
    this.#draw();
  }

  /** A line of our own. */
  status(line: string): void {
    if (this.#options.quiet === true) return;
    this.line(`${paint('cyan', '[ralph]')} ${this.#name}: ${line}`);
  }

  /** A line on the standard error, whatever else is there. */
  line(text: string): void {
    this.#erase();
    if (!this.#atLineStart) write(process.stderr, '\n');
    this.#atLineStart = true;
    write(process.stderr, `${text}\n`);
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#erase();
    if (!this.#atLineStart) write(process.stderr, '\n');
    this.#atLineStart = true;
  }

  #say(text: string): void {
    this.#erase();
    write(process.stdout, process.stdout.isTTY ? harmless(text) : text);
    // Only where both go to the same terminal does one have to mind the other's unfinished line.
    if (process.stdout.isTTY) this.#atLineStart = text.endsWith('\n');
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
    const line = `${this.#name}: ${parts.join(' · ')}`.slice(0, (process.stderr.columns ?? 80) - 1);
    write(process.stderr, `\r\u001B[K${paint('dim', line)}`);
    this.#isDrawn = true;
  }

  #erase(): void {
    if (!this.#isDrawn) return;
    write(process.stderr, '\r\u001B[K');
    this.#isDrawn = false;
  }
}

function describe(event: Exclude<AgentEvent, { type: 'text' }>): readonly string[] {
  switch (event.type) {
    case 'tool.start':
      return [`→ ${event.name} ${event.input}`.trimEnd()];
    case 'tool.end':
      return event.ok ? [] : [`✗ ${event.output.split('\n', 1)[0] ?? ''}`];
    case 'limit':
      return [`the provider says: ${event.message}`];
    case 'todo':
      return event.items.map(({ text, done }) => `[${done ? 'x' : ' '}] ${text}`);
    case 'progress':
      return event.text === '' ? [] : [event.text];
    case 'result':
    case 'unknown':
      return [];
  }
}

function write(stream: NodeJS.WriteStream, text: string): void {
  if (!stream.destroyed) stream.write(text);
}

/** Colours may stay; everything else that commands a terminal may not. */
export function harmless(text: string): string {
  return text.replaceAll(
    // oxlint-disable-next-line no-control-regex -- control characters are what this is about
    /\u001B\[[0-9;]*m|\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|.)|[\u0000-\u0008\u000B-\u001A\u001C-\u001F\u007F\u0080-\u009F]/gs,
    (match) => (match.startsWith('\u001B[') && match.endsWith('m') ? match : ''),
  );
}

/** Colour only where there is one (`NO_COLOR`, `FORCE_COLOR` and no terminal are respected). */
export function paint(colour: 'cyan' | 'dim' | 'green' | 'red' | 'yellow' | 'bold', text: string): string {
  return process.stderr.isTTY && process.stderr.hasColors() && process.env['NO_COLOR'] === undefined
    ? styleText(colour, text, { stream: process.stderr })
    : text;
}
