/**
 * The transcript of a session of Claude Code: a file of JSON lines that grows.
 *
 * 1. Only whole lines after the given offset are read, and never more than a fixed number of bytes.
 * 2. A turn begins with a prompt. What comes before the first prompt was written late and belongs to the turn before: its
 *    tokens count, its text does not.
 * 3. Only text of the main conversation is the agent's own; errors of the API are written in its place and are not.
 * 4. Several lines repeat the usage of one message, so the last one counts.
 * 5. Subagents have transcripts of their own beside it. They cost tokens, and say nothing to the person.
 */
import { closeSync, fstatSync } from 'node:fs';
import { join } from 'node:path';
import { claudeTokens } from '../../agents/claude.ts';
import { isRecord, list, parsed, record, text, textOrNull, type Json } from '../../agents/json.ts';
import { namesIn, openRegular, readAll } from '../../files/files.ts';
import { addTokens } from '../../loop/limits.ts';
import type { TurnMessage, TurnTokens } from '../../session/turn.ts';

export interface TranscriptTurn {
  /** Where the next turn begins. */
  readonly end: number;
  /** What the agent said and thought, in order. */
  readonly messages: readonly TurnMessage[];
  readonly toolCalls: number;
  /** Null if the transcript has none for this turn. */
  readonly tokens: TurnTokens | null;
  readonly model: string | null;
  /** Commands and messages of the person that wait for the end of the turn. */
  readonly queued: readonly string[];
  /** Whether there is a prompt since then. */
  readonly hasBegun: boolean;
}

/** The turn after an offset; null if the transcript is missing, or if it is not the one that the offset belongs to. */
export function readTurn(path: string, offset: number): TranscriptTurn | null {
  const found = linesAfter(path, offset);
  if (found === null) return null;
  const turn = new Turn();
  for (const line of found.lines) turn.add(parsed(line));
  return { end: found.end, ...turn.summary };
}

/** How far the transcripts of the subagents of a session have been read, by their names. */
export type SubagentOffsets = Readonly<Record<string, number>>;

export interface SubagentUsage {
  readonly offsets: SubagentOffsets;
  readonly tokens: TurnTokens | null;
}

/** What the subagents have used since then. */
export function readSubagents(path: string, offsets: SubagentOffsets): SubagentUsage {
  const folder = join(path.replace(/\.jsonl$/, ''), 'subagents');
  const names = namesIn(folder).filter((name) => /^agent-[\w-]+\.jsonl$/.test(name));
  const ends: Record<string, number> = {};
  let tokens: TurnTokens | null = null;
  for (const name of names) {
    const from = Object.hasOwn(offsets, name) ? (offsets[name] ?? 0) : 0;
    const turn = readTurn(join(folder, name), from);
    ends[name] = turn?.end ?? from;
    tokens = total(tokens, turn?.tokens ?? null);
  }
  return { offsets: ends, tokens };
}

/** The size of a transcript, up to its last whole line; 0 if there is none. */
export function transcriptEnd(path: string): number {
  return withTranscript(path, (descriptor, size) => wholeLines(descriptor, size, 0)?.end ?? 0) ?? 0;
}

function linesAfter(path: string, offset: number): Lines | null {
  return withTranscript(path, (descriptor, size) => wholeLines(descriptor, size, offset));
}

interface Lines {
  readonly end: number;
  readonly lines: readonly string[];
}

/** Null if no line begins at the offset. */
function wholeLines(descriptor: number, size: number, offset: number): Lines | null {
  if (offset > size) return null;
  if (offset > 0 && readAll(descriptor, 1, offset - 1)[0] !== NEWLINE) return null;
  const from = Math.max(offset, size - MAX_BYTES);
  const content = readAll(descriptor, size - from, from);
  const begin = from === offset ? 0 : content.indexOf(NEWLINE) + 1;
  const end = content.lastIndexOf(NEWLINE) + 1;
  const lines = content.subarray(begin, end).toString('utf8').split('\n');
  return { end: from + end, lines: lines.filter((line) => line !== '') };
}

function withTranscript<T>(path: string, use: (descriptor: number, size: number) => T): T | null {
  let descriptor;
  try {
    descriptor = openRegular(path, 'read');
  } catch {
    return null;
  }
  try {
    return use(descriptor, fstatSync(descriptor).size);
  } finally {
    closeSync(descriptor);
  }
}

const NEWLINE = 10;
/** A turn of many hours; of a longer one only the end is read. */
const MAX_BYTES = 128 * 2 ** 20;

class Turn {
  readonly #messages: TurnMessage[] = [];
  readonly #tokens = new Map<string, TurnTokens>();
  #queued: readonly string[] = [];
  #toolCalls = 0;
  #model: string | null = null;
  #hasBegun = false;

  add(entry: Json): void {
    if (entry['type'] === 'queue-operation') this.#queued = afterOperation(this.#queued, entry);
    else if (entry['type'] === 'user') this.#hasBegun ||= isPrompt(entry);
    else if (entry['type'] === 'assistant' && entry['isApiErrorMessage'] !== true) this.#answer(entry);
  }

  get summary(): Omit<TranscriptTurn, 'end'> {
    const all = [...this.#tokens.values()];
    return {
      messages: this.#messages,
      toolCalls: this.#toolCalls,
      tokens: all.length === 0 ? null : all.reduce(addTokens),
      model: this.#model,
      queued: this.#queued,
      hasBegun: this.#hasBegun,
    };
  }

  #answer(entry: Json): void {
    const message = record(entry['message']);
    const model = textOrNull(message['model']);
    // What Claude Code writes in place of a model is called `<synthetic>`.
    if (model === null || model.startsWith('<')) return;
    const id = textOrNull(message['id']);
    if (id !== null && isRecord(message['usage'])) this.#tokens.set(id, claudeTokens(message['usage']));
    if (!this.#hasBegun || entry['isSidechain'] === true) return;
    this.#model = model;
    for (const block of list(message['content']).map(record)) this.#block(block);
  }

  #block(block: Json): void {
    if (block['type'] === 'text') this.#messages.push({ role: 'assistant', text: text(block['text']) });
    else if (block['type'] === 'thinking') {
      this.#messages.push({ role: 'reasoning', text: text(block['thinking']) });
    } else if (block['type'] === 'tool_use') this.#toolCalls++;
  }
}

export function total(one: TurnTokens | null, other: TurnTokens | null): TurnTokens | null {
  return one === null || other === null ? (one ?? other) : addTokens(one, other);
}

/** What a person, a command or a hook says to the agent; results of tools have the type `user` as well. */
function isPrompt(entry: Json): boolean {
  const content = record(entry['message'])['content'];
  if (entry['isSidechain'] === true) return false;
  return (
    typeof content === 'string' || !list(content).some((block) => record(block)['type'] === 'tool_result')
  );
}

function afterOperation(queued: readonly string[], entry: Json): readonly string[] {
  const content = text(entry['content']);
  switch (entry['operation']) {
    case 'enqueue':
      return [...queued, content];
    case 'dequeue':
      return queued.slice(1);
    case 'remove': {
      const at = content === '' ? 0 : queued.indexOf(content);
      return queued.filter((_, index) => index !== at);
    }
    case 'popAll':
      return [];
    default:
      return queued;
  }
}
