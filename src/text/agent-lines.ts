/**
 * What a person reads of a running agent: its words as they are, and a few lines for each tool, todo list and result.
 * The caller decides where they go and in which colours.
 */
import { cut } from '../loop/excerpt.ts';
import { addTokens } from '../loop/limits.ts';
import type { Tokens } from '../loop/event.ts';
import type { AgentEvent } from '../agents/agent.ts';
import { counted, duration } from '../loop/counted.ts';
import type { WordingPolicy } from '../loop/policy.ts';
import type { Mask } from '../home/mask.ts';
import { localTime, stamp } from './times.ts';
import { oneLine } from './one-line.ts';

export interface LineOptions {
  readonly emoji: boolean;
  /** Start every line with the time. */
  readonly timestamps: boolean;
  /** Maximum lines of a tool's output, and characters of each. */
  readonly maxLines: number;
  readonly maxChars: number;
  /** Also show tools without output, and the agent's thoughts. */
  readonly verbose: boolean;
  /** Whether to show tools and to-do lists (default true). */
  readonly tools?: boolean;
  readonly paint: (style: 'bold' | 'dim' | 'green' | 'red', text: string) => string;
}

export class AgentLines {
  readonly #options: LineOptions;
  readonly #now: () => number;
  /** Whether the time in front of a line has its date, and what the end of a run is called. */
  #wording: RunWording = { datedStamps: false, runEndWord: null };
  readonly #tools = new Map<string, string>();
  #message: string | null = null;
  #atLineStart = true;
  #toolCount = 0;
  #errors = 0;
  #startedAt: number;
  #tokens: Tokens | null = null;
  #costUsd: number | null = null;

  constructor(options: LineOptions, now: () => number) {
    this.#options = options;
    this.#now = now;
    this.#startedAt = now();
  }

  /** Resets the counters for a new run. */
  begin(startedAt: number = this.#now(), wording: RunWording = this.#wording): void {
    this.#wording = wording;
    this.#tools.clear();
    // The words of the new run must not continue an unfinished line of the last one.
    this.#message = this.#atLineStart ? null : 'another run';
    this.#toolCount = 0;
    this.#errors = 0;
    this.#startedAt = startedAt;
    this.#tokens = null;
    this.#costUsd = null;
  }

  /** Counts an event that an earlier owner has shown. */
  recall(event: AgentEvent): void {
    this.#linesOf(event);
  }

  /** The agent's words, for stdout; a new message starts on a new line. */
  words(event: AgentEvent): string {
    if (event.type === 'unknown' && event.isPlain) return this.#say(`${event.line}\n`, event.line);
    return event.type === 'text' ? this.#say(event.text, event.message) : '';
  }

  /** Words and lines, for a single stream. */
  all(event: AgentEvent): string {
    const lines = this.lines(event);
    if (lines.length === 0) return this.words(event);
    const start = this.#atLineStart ? '' : '\n';
    this.#atLineStart = true;
    return `${start}${lines.join('\n')}\n`;
  }

  /** The caller has ended the current line. */
  broken(): void {
    this.#atLineStart = true;
  }

  /** Ends the current line, if the agent has not. */
  endLine(): string {
    const end = this.#atLineStart ? '' : '\n';
    this.#atLineStart = true;
    return end;
  }

  /** What the agent does, as lines without line ends. */
  lines(event: AgentEvent): readonly string[] {
    const all = this.#linesOf(event);
    const lines = this.#options.tools === false && OF_TOOLS.has(event.type) ? [] : all;
    const time = this.#options.timestamps ? this.#stamp() : '';
    return lines.map((line) => (line === '' ? '' : `${time}${oneLine(line)}`));
  }

  #linesOf(event: AgentEvent): readonly string[] {
    switch (event.type) {
      case 'tool.start':
        this.#toolCount++;
        this.#tools.set(event.id, event.name);
        if (this.#tools.size > MAX_OPEN_TOOLS) this.#tools.delete([...this.#tools.keys()][0] ?? '');
        return [
          `${this.#options.emoji ? '⏺' : '>'} ${this.#options.paint('bold', event.name)}(${cut(event.input, 80)})`,
        ];
      case 'tool.end':
        return this.#toolEnd(event);
      case 'todo':
        return this.#todo(event.items);
      case 'thought':
        return this.#verboseLines(event.text);
      case 'progress':
        this.#addUsage(event.usage);
        return this.#verboseLines(event.text);
      case 'result':
        this.#addUsage(event.usage);
        return [event.ok ? this.#complete() : this.#failed(event.error?.message ?? null)];
      case 'text':
      case 'retry':
      case 'limit':
      case 'denied':
      case 'unknown':
        return [];
    }
  }

  #say(text: string, message: string): string {
    const isNew = this.#message !== null && this.#message !== message;
    const start = isNew && !this.#atLineStart ? '\n' : '';
    this.#atLineStart ||= isNew;
    this.#message = message;
    if (text === '') return start;
    const said = this.#options.timestamps ? this.#stampWords(text) : text;
    this.#atLineStart = text.endsWith('\n');
    return start + said;
  }

  #stampWords(text: string): string {
    const parts = text.split(/(?<=\n)/);
    return parts
      .map((part, index) => (index > 0 || this.#atLineStart ? this.#stamp() + part : part))
      .join('');
  }

  /** Text for `--verbose` only. */
  #verboseLines(text: string): readonly string[] {
    return this.#options.verbose && text !== '' ? text.split('\n').map((line) => this.#dim(line)) : [];
  }

  #stamp(): string {
    return stamp(this.#now(), this.#wording.datedStamps);
  }

  #toolEnd({ id, ok, output }: Extract<AgentEvent, { type: 'tool.end' }>): readonly string[] {
    const name = this.#tools.get(id) ?? 'tool';
    this.#tools.delete(id);
    if (!ok) this.#errors++;
    const { emoji, maxLines, maxChars, verbose, paint } = this.#options;
    if (ok && output.trim() === '' && !verbose) return [];
    const all = output.replace(/\n$/, '').split('\n');
    const size =
      output === ''
        ? '(no output)'
        : `(${counted(all.length, 'line')}, ${counted(Array.from(output).length, 'char')})`;
    const head = ok
      ? `${emoji ? '✅' : paint('green', '[OK]')} Result ← ${name} ${size}`
      : `${emoji ? '❌' : paint('red', '[ERR]')} Error ← ${name} ${size}`;
    const corner = emoji ? '  ⎿  ' : '  |  ';
    const shown = output === '' ? [] : all.slice(0, maxLines).map((line) => cut(line, maxChars));
    const lines = shown.map((line, index) => this.#dim(`${index === 0 ? corner : '     '}${line}`));
    const more = output === '' ? 0 : all.length - shown.length;
    if (more > 0) lines.push(this.#dim(`${corner}... ${more} more lines`));
    return [head, ...lines];
  }

  #todo(items: Extract<AgentEvent, { type: 'todo' }>['items']): readonly string[] {
    const { emoji } = this.#options;
    const marks = emoji
      ? { done: '✅', active: '🔄', pending: '⏸️' }
      : { done: '[x]', active: '[>]', pending: '[ ]' };
    const done = items.filter(({ status }) => status === 'done').length;
    const active = items.filter(({ status }) => status === 'active').length;
    const percent = items.length === 0 ? 0 : Math.round((done / items.length) * 100);
    const rest = `${active} active, ${items.length - done - active} pending`;
    return [
      '',
      `${emoji ? '📋 ' : ''}Todo List`,
      ...items.map(({ text, status, priority }) => {
        const urgency = priority === null || priority === 'medium' ? '' : ` [${priority}]`;
        return `  ${marks[status]} ${cut(text, 70)}${urgency}${status === 'active' ? ' ← ACTIVE' : ''}`;
      }),
      `  ${emoji ? '📊 ' : ''}Progress: ${done}/${items.length} (${percent}%) | ${rest}`,
    ];
  }

  #complete(): string {
    const { emoji, paint } = this.#options;
    const { runEndWord } = this.#wording;
    const figures = this.#figures().join(', ');
    if (runEndWord === null) return `run ended (${figures})`;
    return `${emoji ? '✅' : paint('green', '[OK]')} ${runEndWord} (${figures})`;
  }

  #failed(message: string | null): string {
    const { emoji, paint } = this.#options;
    const why = message === null ? '' : `: ${cut(message.split('\n', 1)[0] ?? '', 200)}`;
    return `${emoji ? '❌' : paint('red', '[ERR]')} Failed${why} (${this.#figures().join(', ')})`;
  }

  #figures(): readonly string[] {
    const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0 } = this.#tokens ?? {};
    const read = input + cacheRead + cacheWrite;
    const cached = cacheRead > 0 ? ` (${tokenCount(cacheRead)} cached)` : '';
    return [
      ...(this.#costUsd !== null && this.#costUsd > 0 ? [`cost: $${this.#costUsd.toFixed(2)}`] : []),
      ...(read + output > 0 ? [`tokens: ${tokenCount(read)} in${cached} / ${tokenCount(output)} out`] : []),
      `tools: ${this.#toolCount}`,
      `errors: ${this.#errors}`,
      `time: ${wholeDuration(this.#now() - this.#startedAt)}`,
    ];
  }

  #addUsage(usage: Extract<AgentEvent, { type: 'result' }>['usage']): void {
    if (usage === null) return;
    this.#costUsd = usage.costUsd ?? this.#costUsd;
    const [first, ...more] = usage.parts;
    if (first === undefined) return;
    this.#tokens = more.reduce((sum, { tokens }) => addTokens(sum, tokens), first.tokens);
  }

  #dim(text: string): string {
    return this.#options.paint('dim', text);
  }
}

/** What stands above a run in the log of a night. */
export function runHeading(run: string, startedAt: number | null, endedAt: number | null): string {
  const [iteration = run, number = '1'] = run.split('.');
  const times =
    startedAt === null
      ? []
      : [
          localTime(startedAt).replace('T', ' '),
          endedAt === null ? 'has not ended' : duration(endedAt - startedAt, ' '),
        ];
  return [`=== iteration ${iteration}${number === '1' ? '' : `, run ${number}`}`, ...times].join(' · ');
}

type RunWording = Pick<WordingPolicy, 'datedStamps' | 'runEndWord'>;

const OF_TOOLS: ReadonlySet<AgentEvent['type']> = new Set(['tool.start', 'tool.end', 'todo']);

/** Tools whose names are kept until they end; the limit keeps memory bounded if some never do. */
const MAX_OPEN_TOOLS = 100;

/** Lines about retries, limits and denials that the agent reports: they concern the loop, not the agent's work. */
export class ProviderLines {
  /** The reason of the last retry. */
  #lastReason: string | null = null;

  /** A new run. */
  begin(): void {
    this.#lastReason = null;
  }

  lines(event: AgentEvent): readonly string[] {
    switch (event.type) {
      case 'retry':
        return [this.#retry(event)];
      case 'limit':
        return [`the provider says: ${event.message}`];
      case 'denied':
        return [`permission to use ${event.tool} denied: ${event.message.split('\n', 1)[0] ?? ''}`];
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

  /** Prints a reason once, not again with every retry. */
  #retry({ attempt, most, waitMs, error }: Extract<AgentEvent, { type: 'retry' }>): string {
    const isRepeated = this.#lastReason === error.message;
    this.#lastReason = error.message;
    const isReached = error.kind !== 'transient' && error.kind !== 'blocked';
    const what = isReached ? 'rejected by the provider' : 'provider unavailable';
    const of = most === null ? '' : ` of ${most}`;
    const wait = waitMs === null ? '' : ` in ${duration(waitMs, ' ')}`;
    return `${what} (${isRepeated ? 'same error' : error.message}): retry ${attempt}${of}${wait}`;
  }
}

/** An event of an agent without secrets, before its lines are cut. Its words are masked where they are printed, piece by piece. */
export function maskedEvent<T extends AgentEvent>(event: T, mask: Mask): T {
  if (event.type === 'text') return event;
  // The adapters cut the input of a tool.
  const masked = mask.value(event);
  return event.type === 'tool.start' ? { ...masked, input: mask.cutText(event.input) } : masked;
}

/** 999, 1K, 1.2M; halves round to even, as document 001 prescribes. */
export function tokenCount(count: number): string {
  if (count >= 1_000_000) return `${(count / 1_000_000).toFixed(1)}M`;
  if (count < 1000) return String(count);
  const thousands = count / 1000;
  const below = Math.floor(thousands);
  const isHalf = thousands - below === 0.5;
  return `${isHalf ? below + (below % 2) : Math.round(thousands)}K`;
}

/** 59s, 1m, 1m1s, 61m1s. */
export function wholeDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes === 0) return `${seconds}s`;
  return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
}
