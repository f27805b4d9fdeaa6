/**
 * Reads the output of one run as it arrives: a snapshot for the loop, and events for the console.
 *
 * 1. The snapshot is absolute and depends only on the bytes, not on the chunks: reading a file again from the beginning
 *    gives the same snapshot. Only the usage may be greater, by what the CLI has recorded elsewhere when it is asked for.
 * 2. After a crash, output that was shown before is read again but not shown again.
 * 3. Memory does not grow with the output.
 */
import type { Detector } from '../loop/completion.ts';
import type { OutputSnapshot, RunError, UsageLimit } from '../loop/event.ts';
import { isFatal } from '../loop/failure.ts';
import type { Search } from '../loop/pattern-matcher.ts';
import type { SessionSpend } from '../loop/state.ts';
import {
  type Agent,
  type AgentEvent,
  type RecordedRun,
  type Retry,
  type RunFacts,
  type StreamParser,
  type Usage,
  type UsageRecord,
  isWork,
} from './agent.ts';
import { ClaimReader } from './claim-reader.ts';
import { CUT_OFF } from './json-lines.ts';
import type { Price } from './prices.ts';
import { remedyFor } from './remedies.ts';
import { RunUsage } from './run-usage.ts';
import { StderrReader } from './stderr-reader.ts';

export interface RunReader {
  /** Reads a chunk of stdout; returns when the loop should get a new snapshot. */
  read(chunk: Buffer): News;
  /** Reads a chunk of stderr; returns the part of it that was not shown before. */
  readStderr(chunk: Buffer): Buffer;
  /** Reads what a terminal shows of the agent's own text now; returns true if it has a claim. */
  readScreen(text: string): boolean;
  /** There is no more output. */
  end(): void;
  snapshot(ended: boolean): OutputSnapshot;
  /** The CLI records usage that its output does not have yet: the snapshot may change without more output. */
  readonly hasRecord: boolean;
  /** The stream has reported a result. */
  readonly hasResult: boolean;
  /** A tool call is open: silence is not inactivity. */
  readonly hasOpenTool: boolean;
  /** The error that the output reports. */
  readonly error: RunError | null;
  /** The CLI keeps retrying a request that cannot succeed. */
  readonly isHopeless: boolean;
  /** The last chunk is a sign of activity: it has more than retries and lines of the CLI's own log. */
  readonly isActive: boolean;
  /** The stream has begun, and nothing has followed: no work, no retry. */
  readonly isUnanswered: boolean;
}

/** When the loop should get a snapshot: at once, soon (it has new usage), or at any later time. */
export type News = 'now' | 'soon' | 'later';

/** Creates a reader. `show` gets new events, `recall` those that were shown before. */
export function readRun(
  agent: Agent,
  detectors: readonly Detector[],
  context: ReadContext,
  show: (event: AgentEvent) => void,
  recall: (event: AgentEvent) => void = () => {},
): RunReader {
  return new Reader(agent, detectors, context, { show, recall });
}

export interface ReadContext extends RunFacts {
  /** How many bytes of stdout and stderr were shown before. */
  readonly shown: Pick<OutputSnapshot, 'offset' | 'complained'>;
  /** The agent's program and flags. */
  readonly argv: readonly string[];
  readonly workspaceFolder: RecordedRun['workspaceFolder'];
  /** The agent's environment. */
  readonly env: () => RecordedRun['env'];
  /** The usage so far of the session that the run may continue. */
  readonly session: SessionSpend | null;
  /** Masks secrets in a text: error messages go into the journal. */
  readonly hide: (text: string) => string;
  /** Runs the patterns of the detectors. An error of it is thrown by every method that reads. */
  readonly search: Search;
  /** The price of tokens; null if it is unknown. */
  readonly price: Price;
}

/** The CLI may refresh a credential between attempts; after this many refusals the provider will not accept it. */
const HOPELESS_ATTEMPT = 3;

/** A CLI that retries at once and forever is ended after this many attempts; the loop then waits for the provider. */
const ENDLESS_ATTEMPT = 10;

/** Open tool calls; calls that never end must not accumulate. */
const MAX_OPEN_TOOLS = 100;

/**
 * A chunk is parsed in pieces of at least this size: what is read of a piece is garbage before the collector looks at it, which halves the
 * time for a flood.
 */
const PIECE_BYTES = 16 * 1024;

type Viewer = Readonly<Record<'show' | 'recall', (event: AgentEvent) => void>>;

class Reader implements RunReader {
  readonly #agent: Agent;
  readonly #parser: StreamParser;
  readonly #viewer: Viewer;
  readonly #context: ReadContext;
  readonly #openTools = new Set<string>();
  readonly #usage: RunUsage;
  #record: UsageRecord | null = null;
  readonly #claims: ClaimReader;
  readonly #stderr: StderrReader;
  #offset = 0;
  #session: string | null = null;
  #steps = 0;
  #answer: string | null = null;
  #unknown = 0;
  #said: OutputSnapshot['said'] = null;
  #limit: UsageLimit | null = null;
  /** The usage limit for which the CLI retries. */
  #retryLimit: UsageLimit | null = null;
  #error: RunError | null = null;
  #isHopeless = false;
  #isUnreachable = false;
  #hasStarted = false;
  /** There was something after the start: work, a retry, or a line that the adapter does not know. */
  #hasContinued = false;
  /** The last chunk has an event of an agent that works. */
  #hasWorked = false;
  /** The last chunk has more than lines of the CLI's own log. */
  #hasPrinted = false;
  #isCutOff = false;
  #news: News = 'later';

  constructor(agent: Agent, detectors: readonly Detector[], context: ReadContext, viewer: Viewer) {
    this.#agent = agent;
    this.#parser = agent.read(context);
    // An unknown command may print its claim on either stream.
    this.#claims = new ClaimReader(detectors, context.folder, agent.call === null, context.search);
    this.#stderr = new StderrReader(agent, context, (retry, isNew) => {
      this.#retried(retry);
      if (isNew) viewer.show(retry);
    });
    this.#context = context;
    this.#usage = new RunUsage(context.price);
    this.#viewer = viewer;
  }

  get hasOpenTool(): boolean {
    return this.#openTools.size > 0;
  }

  get hasRecord(): boolean {
    return this.#agent.record !== undefined && !this.#usage.hasTotals;
  }

  get hasResult(): boolean {
    return this.#said !== null;
  }

  get error(): RunError | null {
    return this.#error;
  }

  get isHopeless(): boolean {
    return this.#isHopeless;
  }

  get isUnanswered(): boolean {
    return this.#agent.call !== null && this.#offset > 0 && !this.#hasContinued;
  }

  get isActive(): boolean {
    return this.#hasWorked || (this.#hasPrinted && !this.#isUnreachable);
  }

  read(chunk: Buffer): News {
    this.#news = 'later';
    this.#hasWorked = false;
    this.#hasPrinted = true;
    const known = Math.min(Math.max(0, this.#context.shown.offset - this.#offset), chunk.length);
    this.#parse(chunk.subarray(0, known), false);
    this.#parse(chunk.subarray(known), true);
    this.#offset += chunk.length;
    return this.#claims.claim(false) === null ? this.#news : 'now';
  }

  #parse(chunk: Buffer, visible: boolean): void {
    for (let at = 0, end = 0; at < chunk.length; at = end) {
      // At the end of a line, so that no line has to be put together again.
      end = chunk.indexOf('\n', at + PIECE_BYTES) + 1 || chunk.length;
      this.#take(this.#parser.push(chunk.subarray(at, end)), visible);
    }
  }

  readStderr(chunk: Buffer): Buffer {
    const known = Math.max(0, (this.#context.shown.complained ?? 0) - this.#stderr.offset);
    this.#hasWorked = false;
    const { text, fresh, isOnlyLog } = this.#stderr.push(chunk, Math.min(known, chunk.length));
    this.#hasPrinted = !isOnlyLog;
    this.#claims.complaint(text);
    return fresh;
  }

  readScreen(text: string): boolean {
    this.#claims.screen(text);
    return this.#claims.claim(false) !== null;
  }

  end(): void {
    const wasUnreachable = this.#isUnreachable;
    this.#take(this.#parser.end(), true);
    this.#claims.end();
    this.#learnFromStderr();
    // What follows from the end of the stream is no news from the provider.
    this.#isUnreachable = wasUnreachable && this.#said !== 'success';
  }

  snapshot(ended: boolean): OutputSnapshot {
    this.#learnFromRecord();
    const claim = this.#claims.claim(ended);
    const nearMiss = ended && claim === null ? this.#claims.nearMiss() : null;
    return {
      offset: this.#offset,
      ...(this.#stderr.offset === 0 ? {} : { complained: this.#stderr.offset }),
      ...(this.#session === null ? {} : { session: this.#session }),
      ...(this.#unknown === 0 ? {} : { unknown: this.#unknown }),
      tokens: this.#usage.tokens,
      cost: this.#usage.cost,
      ...(this.#usage.isOutputEstimated ? { outputEstimated: true } : {}),
      steps: this.#steps,
      said: this.#said,
      claim,
      claimEndsRun: this.#claims.claim(false) !== null,
      ...(nearMiss === null ? {} : { nearMiss }),
      limit: this.#limit ?? (this.#isUnreachable ? this.#retryLimit : null),
      ...(this.#isUnreachable ? { unreachable: true } : {}),
      ...(this.#answer === null ? {} : { answer: this.#answer }),
    };
  }

  #take(events: readonly AgentEvent[], visible: boolean): void {
    for (const event of events) {
      // The stream may report the same limit twice, first as a field and then as text.
      const isNews = event.type !== 'limit' || this.#limit === null;
      const shown = this.#isHopeless && event.type === 'result' ? { ...event, error: this.#error } : event;
      this.#learn(shown);
      if (isNews) this.#viewer[visible ? 'show' : 'recall'](shown);
    }
  }

  #learn(event: AgentEvent): void {
    const isStart = event.type === 'progress' && event.usage === null && !this.#hasStarted;
    this.#hasStarted ||= isStart;
    this.#hasContinued ||= !isStart && (isWork(event) || event.type === 'unknown');
    if (isWork(event)) {
      this.#isUnreachable = false;
      this.#hasWorked = true;
      this.#stderr.worked();
    }
    switch (event.type) {
      case 'text':
        if (event.isEcho === true) return;
        this.#claims.text(event.message, event.text);
        return;
      case 'tool.start':
        this.#steps++;
        // Without an id no `tool.end` could close it.
        if (event.id !== '') this.#openTools.add(event.id);
        if (this.#openTools.size > MAX_OPEN_TOOLS) this.#openTools.delete([...this.#openTools][0] ?? '');
        return;
      case 'tool.end':
        this.#openTools.delete(event.id);
        return;
      case 'progress':
        this.#addUsage(event);
        return;
      case 'retry':
        this.#retried(event);
        return;
      case 'limit':
        // A reset time from a field is exact, one from text is not.
        this.#limit = {
          resetsAt: this.#limit?.resetsAt ?? event.resetsAt,
          message: this.#context.hide(event.message),
        };
        this.#news = 'now';
        return;
      case 'result':
        if (event.text !== null) {
          const isRepeated = this.#agent.repeatsAnswer === true || event.repeatsMessage === true;
          this.#claims.answer(isRepeated ? 'last-message' : 'answer', event.text);
        }
        this.#addUsage(event);
        this.#steps = event.steps ?? this.#steps;
        this.#answer = event.answer ?? null;
        // Stopped by Ralph, a CLI may report a success.
        this.#said = event.ok && !this.#isHopeless ? 'success' : 'error';
        this.#isCutOff = event === CUT_OFF;
        // What the CLI says at its end outranks why it retried before.
        if (!this.#isCutOff) this.#retryLimit = null;
        this.#error = this.#isHopeless ? this.#error : this.#withRemedy(event.error);
        this.#news = 'now';
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

  #retried({ attempt, error, limit, isEndless }: Retry): void {
    this.#hasContinued = true;
    this.#retryLimit = limit === undefined ? null : { ...limit, message: this.#context.hide(limit.message) };
    const cannotSucceed = isFatal(error.kind) || error.kind === 'request-refused';
    this.#isUnreachable = !cannotSucceed;
    const isHopeless =
      (cannotSucceed && attempt >= HOPELESS_ATTEMPT) || (isEndless && attempt >= ENDLESS_ATTEMPT);
    if (isHopeless !== true) return;
    this.#error = this.#withRemedy(error);
    this.#isHopeless = true;
    this.#news = 'now';
  }

  #addUsage({ type, usage, session }: Extract<AgentEvent, { type: 'progress' | 'result' }>): void {
    this.#session = session ?? this.#session;
    if (usage === null) return;
    const hasMore = this.#usage.add(usage, this.#earlier(usage), type === 'result');
    if (hasMore && this.#news === 'later') this.#news = 'soon';
  }

  /** The part of a usage that belongs to earlier runs of its session. */
  #earlier(usage: Usage): SessionSpend | null {
    const { session } = this.#context;
    return usage.isWholeSession && this.#session === session?.id ? session : null;
  }

  /** A program that could not start, or gave up, may report why only on stderr. */
  #learnFromStderr(): void {
    if ((this.#said !== null && !this.#isCutOff) || this.#limit !== null) return;
    const limit = this.#stderr.limit();
    this.#limit = limit === null ? null : { ...limit, message: this.#context.hide(limit.message) };
    if (this.#offset === 0) this.#error = this.#withRemedy(this.#stderr.error()) ?? this.#error;
  }

  /** The stream may report usage late, or only at the end of a run that is not stopped; the CLI may record it earlier. */
  #learnFromRecord(): void {
    if (!this.hasRecord) return;
    const { startedAt, folder, workspaceFolder, env } = this.#context;
    this.#record ??= this.#agent.record?.({ startedAt, folder, workspaceFolder, env: env() }) ?? null;
    const usage = this.#record?.read({ session: this.#session, stderr: this.#stderr.head }) ?? null;
    if (usage !== null) this.#usage.addRecorded(usage, this.#earlier(usage));
  }

  #withRemedy(reported: RunError | null): RunError | null {
    if (reported === null) return null;
    const error = { ...reported, message: this.#context.hide(reported.message) };
    const remedy = remedyFor(this.#agent, error.kind, this.#context.argv, {
      message: error.message,
      isMidRun: this.#steps > 0,
    });
    return remedy === null ? error : { ...error, message: `${error.message.replace(/\.$/, '')}; ${remedy}` };
  }
}
