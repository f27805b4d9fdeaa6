/**
 * What the agent of a run does, as events, read from what it has printed: the one place where the hall parses the output of agents.
 *
 * 1. A place in the stream is a number of bytes. The same bytes give the same events, in whatever pieces they are read, so that a
 *    reader goes on where it was in any process, and after a crash of the owner or its own.
 * 2. A reader that comes again at once goes on with its parser. For any other the output is read again from its beginning.
 * 3. No event has a secret, nor do the texts of several events together: an end that may be the beginning of one is held back until
 *    something follows. Over events that show nothing, and over a pause, only the beginning of a known secret is.
 */
import { TimeSlice } from '../process/turns.ts';
import { closeSync, fstatSync } from 'node:fs';
import type { AgentEvent, StreamParser } from '../agents/agent.ts';
import { agentNamed } from '../agents/agents.ts';
import { inMessageRun } from '../agents/message-run.ts';
import { readAll } from '../files/files.ts';
import { type Mask, type MaskedStream, maskOf } from '../home/mask.ts';
import type { LoopFolder } from '../home/home.ts';
import { readSpec } from '../home/spec.ts';
import { isMessageRun } from '../workspace/commit-answer.ts';
import { openOutput } from './output.ts';

/** A place in the output of a run. */
export interface AgentMark {
  readonly run: string;
  /** When the run was started: times of day in its output are relative to it. */
  readonly startedAt: number;
  readonly bytes: number;
  /** Where the words before the last pause were told that might have become a key. */
  readonly released?: number;
}

interface AgentPage {
  readonly events: readonly AgentEvent[];
  readonly next: AgentMark;
  /** Whether there is nothing more to read now. */
  readonly isEnd: boolean;
}

/**
 * The events after a place. After the last one comes more (`middle`), nothing for a while (`pause`), or the end of the run (`end`), from
 * which events follow, too. None if the signal aborts.
 */
export async function agentPage(
  folder: LoopFolder,
  from: AgentMark,
  then: 'middle' | 'pause' | 'end',
  signal?: AbortSignal,
): Promise<AgentPage> {
  const opened = openOutput(folder, from.run, 'stdout');
  try {
    const stream = streams.take(folder, from) ?? (await streamAt(folder, from, opened, signal));
    if (stream === null) return { events: [], next: from, isEnd: false };
    const bytes = opened === null ? EMPTY : readAll(opened, PAGE_BYTES, from.bytes);
    const place = from.bytes + bytes.length;
    const isEnd = opened === null || place >= fstatSync(opened).size;
    const events = stream.take(bytes);
    const last = !isEnd || then === 'middle' ? [] : then === 'end' ? stream.end() : stream.release();
    const isReleased = then === 'pause' && last.length > 0;
    const next = { ...from, bytes: place, ...(isReleased ? { released: place } : {}) };
    if (!isEnd || then !== 'end') streams.keep(folder, next, stream);
    return { events: [...events, ...last], next, isEnd };
  } finally {
    if (opened !== null) closeSync(opened);
  }
}

/** A parser that has read all bytes before a place; null if the signal aborts first. */
async function streamAt(
  folder: LoopFolder,
  { run, startedAt, bytes, released = 0 }: AgentMark,
  opened: number | null,
  signal?: AbortSignal,
): Promise<AgentStream | null> {
  const { kind } = readSpec(folder.spec).agent;
  const stream = new AgentStream(parserFor(kind, folder.run(run), startedAt), maskOf(folder));
  if (opened === null) return stream;
  const end = Math.min(bytes, fstatSync(opened).size);
  // A long output must not delay other readers and loops.
  const slice = new TimeSlice();
  for (let at = 0; at < end;) {
    const piece = readAll(opened, Math.min(PIECE_BYTES, (at < released ? released : end) - at), at);
    if (piece.length === 0) break;
    stream.take(piece);
    at += piece.length;
    if (at === released) stream.release();
    // oxlint-disable-next-line no-await-in-loop -- as above
    await slice.pause();
    if (signal?.aborted === true) return null;
  }
  return stream;
}

const PAGE_BYTES = 256 * 1024;
const PIECE_BYTES = 32 * 1024;
const EMPTY = Buffer.alloc(0);

/** The parser for the output of a run; a run for a commit message may print plain text. */
export function parserFor(kind: string, path: string, startedAt: number): StreamParser {
  const agent = agentNamed(kind);
  return (isMessageRun(path) ? inMessageRun(agent) : agent).read({ startedAt, folder: path });
}

/** The parsers of readers that may come again, the last ones of this process. */
class Streams {
  readonly #kept = new Map<string, AgentStream>();

  take(folder: LoopFolder, mark: AgentMark): AgentStream | undefined {
    const key = keyOf(folder, mark);
    const stream = this.#kept.get(key);
    this.#kept.delete(key);
    return stream;
  }

  keep(folder: LoopFolder, mark: AgentMark, stream: AgentStream): void {
    this.#kept.set(keyOf(folder, mark), stream);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }
}

const streams = new Streams();
const MOST_KEPT = 64;

function keyOf(folder: LoopFolder, { run, bytes, released = 0 }: AgentMark): string {
  return `${folder.path} ${run} ${bytes} ${released}`;
}

/** Events without secrets. */
class AgentStream {
  readonly #parser: StreamParser;
  readonly #mask: Mask;
  readonly #words: HeldText;
  readonly #thoughts: HeldText;

  constructor(parser: StreamParser, mask: Mask) {
    this.#parser = parser;
    this.#mask = mask;
    this.#words = new HeldText(mask);
    this.#thoughts = new HeldText(mask);
  }

  take(bytes: Buffer): readonly AgentEvent[] {
    return this.#parser.push(bytes).flatMap((event) => this.#masked(event));
  }

  end(): readonly AgentEvent[] {
    return [...this.#parser.end().flatMap((event) => this.#masked(event)), ...this.#rest()];
  }

  /** The words that might have become a key: nothing follows them for a while. */
  release(): readonly AgentEvent[] {
    return [...this.#words.release(), ...this.#thoughts.release()];
  }

  #masked(event: AgentEvent): readonly AgentEvent[] {
    if (event.type === 'text') return [...this.#thoughts.rest(), ...this.#words.take(event)];
    if (event.type === 'thought') return [...this.#words.release(), ...this.#thoughts.take(event)];
    const shown = this.#mask.value(event);
    const isCut = event.type === 'tool.start' && shown.type === 'tool.start';
    const before = isShown(event) ? this.#rest() : this.release();
    return [...before, isCut ? { ...shown, input: this.#mask.cutText(event.input) } : shown];
  }

  #rest(): readonly AgentEvent[] {
    return [...this.#words.rest(), ...this.#thoughts.rest()];
  }
}

/** Whether a reader sees something between the words before an event and those after it. */
function isShown(event: AgentEvent): boolean {
  switch (event.type) {
    case 'tool.start':
    case 'tool.end':
    case 'todo':
    case 'result':
      return true;
    case 'unknown':
      return event.isPlain;
    case 'text':
    case 'thought':
    case 'progress':
    case 'retry':
    case 'limit':
    case 'denied':
      return false;
  }
}

type Words = Extract<AgentEvent, { type: 'text' | 'thought' }>;

/** Words that arrive in pieces. */
class HeldText {
  readonly #mask: Mask;
  #stream: MaskedStream;
  /** The event whose words may go on. */
  #open: Words | null = null;

  constructor(mask: Mask) {
    this.#mask = mask;
    this.#stream = mask.stream();
  }

  take(event: Words): readonly Words[] {
    const before = isSame(this.#open, event) ? [] : this.rest();
    this.#open = event;
    return [...before, ...withText(event, this.#stream.read(event.text))];
  }

  /** What is held back, but not the beginning of a known secret. */
  release(): readonly Words[] {
    return withText(this.#open, String(this.#stream.release()));
  }

  /** All that is held back: nothing follows it. */
  rest(): readonly Words[] {
    const [open, rest] = [this.#open, String(this.#stream.end())];
    this.#open = null;
    this.#stream = this.#mask.stream();
    return withText(open, rest);
  }
}

function withText(event: Words | null, text: string): readonly Words[] {
  return event === null || text === '' ? [] : [{ ...event, text }];
}

function isSame(one: Words | null, other: Words): boolean {
  if (one?.type !== 'text' || other.type !== 'text') return one?.type === other.type;
  return one.message === other.message && one.isEcho === other.isEcho;
}
