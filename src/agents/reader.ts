/**
 * One run's output, read as it comes: what the loop must know of it (a snapshot), and what a person gets to see.
 *
 * 1. The snapshot is absolute and depends only on the bytes, not on how they were cut: reading a file again from its
 *    beginning gives the same one.
 * 2. What was shown before a crash is read again and not shown again.
 * 3. Memory does not grow with the output.
 */
import type { Detector } from '../loop/completion.ts';
import type { Cost, OutputSnapshot, RunError, Tokens, UsageLimit } from '../loop/event.ts';
import { startScan, type Piece, type Scanner } from '../loop/scan.ts';
import type { Agent, AgentEvent, StreamParser } from './agent.ts';

export interface RunReader {
  /** Takes in a chunk; true when something has changed that the loop should know at once. */
  read(chunk: Buffer): boolean;
  /** Takes in what it complains of, and gives back what of it was not shown before. */
  complain(chunk: Buffer): Buffer;
  /** Nothing more will come. */
  end(): void;
  snapshot(ended: boolean): OutputSnapshot;
  /** A tool is at work: silence is no inactivity. */
  readonly hasOpenTool: boolean;
  /** What the stream says went wrong. */
  readonly error: RunError | null;
}

/** A reader that has read nothing; `show` gets what lies beyond what was shown. */
export function readRun(
  agent: Agent,
  detectors: readonly Detector[],
  shown: Shown,
  show: (event: AgentEvent) => void,
): RunReader {
  return new Reader(agent.read(), startScan(detectors), shown, show);
}

/** How much of its output and of its complaints has been shown. */
type Shown = Pick<OutputSnapshot, 'offset' | 'complained'>;

class Reader implements RunReader {
  readonly #parser: StreamParser;
  readonly #show: (event: AgentEvent) => void;
  readonly #shown: Shown;
  readonly #openTools = new Set<string>();
  #scanner: Scanner;
  #offset = 0;
  #complained = 0;
  #tokens: Tokens | null = null;
  #cost: Cost | null = null;
  #steps = 0;
  #said: OutputSnapshot['said'] = null;
  #limit: UsageLimit | null = null;
  #error: RunError | null = null;
  #hasNews = false;

  constructor(parser: StreamParser, scanner: Scanner, shown: Shown, show: (event: AgentEvent) => void) {
    this.#parser = parser;
    this.#scanner = scanner;
    this.#shown = shown;
    this.#show = show;
  }

  get hasOpenTool(): boolean {
    return this.#openTools.size > 0;
  }

  get error(): RunError | null {
    return this.#error;
  }

  read(chunk: Buffer): boolean {
    this.#hasNews = false;
    const known = Math.min(Math.max(0, this.#shown.offset - this.#offset), chunk.length);
    if (known > 0) this.#take(this.#parser.push(chunk.subarray(0, known)), false);
    if (known < chunk.length) this.#take(this.#parser.push(chunk.subarray(known)), true);
    this.#offset += chunk.length;
    return this.#hasNews || this.#scanner.claim(false) !== null;
  }

  complain(chunk: Buffer): Buffer {
    const known = Math.max(0, (this.#shown.complained ?? 0) - this.#complained);
    this.#complained += chunk.length;
    return chunk.subarray(Math.min(known, chunk.length));
  }

  end(): void {
    this.#take(this.#parser.end(), true);
  }

  snapshot(ended: boolean): OutputSnapshot {
    const early = this.#scanner.claim(false);
    const complained = this.#complained === 0 ? {} : { complained: this.#complained };
    return {
      offset: this.#offset,
      ...complained,
      tokens: this.#tokens,
      cost: this.#cost,
      steps: this.#steps,
      said: this.#said,
      claim: early ?? (ended ? this.#scanner.claim(true) : null),
      claimEndsRun: early !== null,
      limit: this.#limit,
    };
  }

  #take(events: readonly AgentEvent[], visible: boolean): void {
    for (const event of events) {
      this.#learn(event);
      if (visible) this.#show(event);
    }
  }

  #learn(event: AgentEvent): void {
    switch (event.type) {
      case 'text':
        this.#scan({ source: 'assistant', message: event.message, text: event.text });
        this.#scan({ source: 'raw', message: '', text: event.text });
        return;
      case 'tool.start':
        this.#steps++;
        this.#openTools.add(event.id);
        return;
      case 'tool.end':
        this.#openTools.delete(event.id);
        return;
      case 'progress':
        this.#use(event.tokens, event.cost);
        return;
      case 'limit':
        this.#limit = { resetsAt: event.resetsAt, message: event.message };
        this.#hasNews = true;
        return;
      case 'result':
        if (event.text !== null) this.#scan({ source: 'answer', message: 'answer', text: event.text });
        this.#use(event.tokens, event.cost);
        this.#said = event.ok ? 'success' : 'error';
        this.#error = event.error;
        this.#hasNews = true;
        return;
      case 'todo':
      case 'unknown':
        return;
    }
  }

  #use(tokens: Tokens | null, cost: Cost | null): void {
    this.#tokens = tokens ?? this.#tokens;
    this.#cost = cost ?? this.#cost;
    this.#hasNews ||= tokens !== null || cost !== null;
  }

  #scan(piece: Piece): void {
    this.#scanner = this.#scanner.read(piece);
  }
}
