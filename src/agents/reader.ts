/**
 * One run's output, read as it comes: what the loop must know of it (a snapshot), and what a person gets to see.
 *
 * 1. The snapshot is absolute and depends only on the bytes, not on how they were cut: reading a file again from its
 *    beginning gives the same one.
 * 2. What was shown before a crash is read again and not shown again.
 * 3. Memory does not grow with the output.
 */
import { StringDecoder } from 'node:string_decoder';
import type { Detector } from '../loop/completion.ts';
import type { Cost, OutputSnapshot, RunError, Tokens, UsageLimit } from '../loop/event.ts';
import { isFatal } from '../loop/failure.ts';
import { addTokens, NOTHING_SPENT } from '../loop/limits.ts';
import { startScan, type Piece, type Scanner } from '../loop/scan.ts';
import type { SessionSpend } from '../loop/state.ts';
import type { Agent, AgentEvent, RunFacts, StreamParser, Usage } from './agent.ts';
import { echoOf, type Echo, type Said } from './echo.ts';
import { CUT_OFF } from './json-lines.ts';
import { lastWords, readTrouble } from './trouble.ts';

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
  /** The CLI goes on trying what cannot succeed. */
  readonly isHopeless: boolean;
}

/** A reader that has read nothing; `show` gets what lies beyond what was shown, and `recall` what was. */
export function readRun(
  agent: Agent,
  detectors: readonly Detector[],
  context: ReadContext,
  show: (event: AgentEvent) => void,
  recall: (event: AgentEvent) => void = () => {},
): RunReader {
  return new Reader(agent, startScan(detectors), context, { show, recall });
}

export interface ReadContext extends RunFacts {
  /** How much of its output and of its complaints has been shown. */
  readonly shown: Pick<OutputSnapshot, 'offset' | 'complained'>;
  /** What the loop knows of the session that it may take up again. */
  readonly session: SessionSpend | null;
  /** A text without the secrets that may stand in it: what goes wrong is written down. */
  readonly hide: (text: string) => string;
  /** What tokens cost; null where nobody knows. */
  readonly price: (model: string | null, tokens: Tokens) => number | null;
}

/** A credential may be refreshed once in a while; one that is refused again is refused. */
const HOPELESS_ATTEMPT = 3;

/** Enough for the last words of a program that could not begin. */
const LONGEST_COMPLAINT = 4096;
const LAST_LINES = 5;

/** Tools that are at work at the same time; what never ends must not be kept for ever. */
const MOST_TOOLS = 100;

type Audience = Readonly<Record<'show' | 'recall', (event: AgentEvent) => void>>;

class Reader implements RunReader {
  readonly #agent: Agent;
  readonly #parser: StreamParser;
  readonly #audience: Audience;
  readonly #context: ReadContext;
  readonly #openTools = new Set<string>();
  readonly #decoder = new StringDecoder('utf8');
  #scanner: Scanner;
  /** The standard error by itself: how the two are mixed is anybody's guess. */
  #aside: Scanner;
  /** Null where nobody looks there. */
  readonly #echo: Echo | null;
  #offset = 0;
  #complained = 0;
  #complaint = '';
  #tokens: Tokens | null = null;
  #cost: Cost | null = null;
  #session: string | null = null;
  #steps = 0;
  #unknown = 0;
  #said: OutputSnapshot['said'] = null;
  #limit: UsageLimit | null = null;
  #error: RunError | null = null;
  #isHopeless = false;
  #isCutOff = false;
  #hasNews = false;

  constructor(agent: Agent, scanner: Scanner, context: ReadContext, audience: Audience) {
    this.#agent = agent;
    this.#parser = agent.read(context);
    this.#scanner = scanner;
    this.#aside = scanner;
    this.#echo = agent.call === null ? echoOf(context.folder) : null;
    this.#context = context;
    this.#audience = audience;
  }

  get hasOpenTool(): boolean {
    return this.#openTools.size > 0;
  }

  get error(): RunError | null {
    return this.#error;
  }

  get isHopeless(): boolean {
    return this.#isHopeless;
  }

  read(chunk: Buffer): boolean {
    this.#hasNews = false;
    const known = Math.min(Math.max(0, this.#context.shown.offset - this.#offset), chunk.length);
    if (known > 0) this.#take(this.#parser.push(chunk.subarray(0, known)), false);
    if (known < chunk.length) this.#take(this.#parser.push(chunk.subarray(known)), true);
    this.#offset += chunk.length;
    return this.#hasNews || this.#scanner.claim(false) !== null;
  }

  complain(chunk: Buffer): Buffer {
    const known = Math.max(0, (this.#context.shown.complained ?? 0) - this.#complained);
    this.#complained += chunk.length;
    const text = this.#decoder.write(chunk);
    this.#complaint = (this.#complaint + text).slice(-LONGEST_COMPLAINT);
    // Nobody knows which of its streams is the one that counts.
    for (const said of this.#echo?.push(text) ?? []) this.#overhear(said);
    return chunk.subarray(Math.min(known, chunk.length));
  }

  end(): void {
    this.#take(this.#parser.end(), true);
    for (const said of this.#echo?.end() ?? []) this.#overhear(said);
    this.#hearComplaint();
  }

  snapshot(ended: boolean): OutputSnapshot {
    const early = this.#scanner.claim(false);
    return {
      offset: this.#offset,
      ...(this.#complained === 0 ? {} : { complained: this.#complained }),
      ...(this.#session === null ? {} : { session: this.#session }),
      ...(this.#unknown === 0 ? {} : { unknown: this.#unknown }),
      tokens: this.#tokens,
      cost: this.#cost,
      steps: this.#steps,
      said: this.#said,
      claim: early ?? (ended ? (this.#scanner.claim(true) ?? this.#aside.claim(true)) : null),
      claimEndsRun: early !== null,
      limit: this.#limit,
    };
  }

  #take(events: readonly AgentEvent[], visible: boolean): void {
    for (const event of events) {
      // The same limit is told in a field first and in words afterwards.
      const isNews = event.type !== 'limit' || this.#limit === null;
      const known = this.#isHopeless && event.type === 'result' ? { ...event, error: this.#error } : event;
      this.#learn(known);
      if (isNews) this.#audience[visible ? 'show' : 'recall'](known);
    }
  }

  #learn(event: AgentEvent): void {
    switch (event.type) {
      case 'text':
        if (event.isEcho === true) return;
        this.#scan({ source: 'assistant', message: event.message, text: event.text });
        this.#scan({ source: 'raw', message: '', text: event.text });
        return;
      case 'tool.start':
        this.#steps++;
        // One that nobody could ever end is not waited for.
        if (event.id !== '') this.#openTools.add(event.id);
        if (this.#openTools.size > MOST_TOOLS) this.#openTools.delete([...this.#openTools][0] ?? '');
        return;
      case 'tool.end':
        this.#openTools.delete(event.id);
        return;
      case 'progress':
        this.#use(event.usage, event.session);
        return;
      case 'retry':
        this.#retried(event.attempt, event.error);
        return;
      case 'limit':
        // What a field says is exact, what words say is not.
        this.#limit = {
          resetsAt: this.#limit?.resetsAt ?? event.resetsAt,
          message: this.#context.hide(event.message),
        };
        this.#hasNews = true;
        return;
      case 'result':
        if (event.text !== null) this.#scan({ source: 'answer', message: 'answer', text: event.text });
        this.#use(event.usage, event.session);
        this.#steps = event.steps ?? this.#steps;
        this.#said = event.ok ? 'success' : 'error';
        this.#isCutOff = event === CUT_OFF;
        this.#error = this.#isHopeless ? this.#error : this.#withRemedy(event.error);
        this.#hasNews = true;
        return;
      case 'unknown':
        this.#unknown++;
        return;
      case 'thought':
      case 'todo':
      case 'denied':
        return;
    }
  }

  #retried(attempt: number, error: RunError): void {
    if (!isFatal(error.kind) || attempt < HOPELESS_ATTEMPT) return;
    this.#error = this.#withRemedy(error);
    this.#isHopeless = true;
    this.#hasNews = true;
  }

  #use(usage: Usage | null, session: string | null): void {
    this.#session = session ?? this.#session;
    if (usage === null) return;
    const { price } = this.#context;
    const before =
      usage.isWholeSession && this.#session === this.#context.session?.id ? this.#context.session : null;
    // A model without a price is left out where others have one: an estimate is better than none.
    let estimate: number | null = null;
    let tokens: Tokens = NOTHING_SPENT.tokens;
    for (const part of usage.parts) {
      const one = price(part.model, part.tokens);
      if (one !== null) estimate = (estimate ?? 0) + one;
      tokens = addTokens(tokens, part.tokens);
    }
    if (usage.parts.length > 0) this.#tokens = before === null ? tokens : without(tokens, before.tokens);
    const earlier = before?.usd ?? 0;
    if (usage.costUsd !== null)
      this.#cost = { usd: Math.max(0, usage.costUsd - earlier), source: 'reported' };
    else if (estimate !== null) this.#cost = { usd: Math.max(0, estimate - earlier), source: 'estimated' };
    this.#hasNews = true;
  }

  /** A program that could not begin, or gave up, may say why on its standard error only. */
  #hearComplaint(): void {
    if ((this.#said !== null && !this.#isCutOff) || this.#limit !== null) return;
    const { startedAt } = this.#context;
    const lines = this.#complaint
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
    const troubles = lines.map((message) => readTrouble({ message }, startedAt));
    // What a CLI that we know complains of last is about itself; what any command does may be about anything.
    const limit =
      this.#agent.call === null
        ? lastWords(this.#complaint, startedAt)
        : (troubles.slice(-LAST_LINES).find((trouble) => trouble.limit !== null)?.limit ?? null);
    this.#limit = limit === null ? null : { ...limit, message: this.#context.hide(limit.message) };
    if (this.#offset > 0 || this.#agent.call === null) return;
    const errors = troubles.map(({ error }) => error);
    // The last line says it, unless an earlier one says that nothing can help.
    const worst = errors.findLast(({ kind }) => isFatal(kind)) ?? errors.at(-1) ?? null;
    if (worst !== null) this.#error = this.#withRemedy(worst);
  }

  #withRemedy(told: RunError | null): RunError | null {
    if (told === null) return null;
    const error = { ...told, message: this.#context.hide(told.message) };
    const remedy = this.#agent.remedies[error.kind];
    return remedy === undefined
      ? error
      : { ...error, message: `${error.message.replace(/\.$/, '')}; ${remedy}` };
  }

  #overhear({ text, isEcho }: Said): void {
    if (!isEcho) this.#aside = this.#aside.read({ source: 'complaint', message: '', text });
  }

  #scan(piece: Piece): void {
    this.#scanner = this.#scanner.read(piece);
  }
}

function without(a: Tokens, b: Tokens): Tokens {
  return {
    input: Math.max(0, a.input - b.input),
    output: Math.max(0, a.output - b.output),
    cacheRead: Math.max(0, a.cacheRead - b.cacheRead),
    cacheWrite: Math.max(0, a.cacheWrite - b.cacheWrite),
  };
}
