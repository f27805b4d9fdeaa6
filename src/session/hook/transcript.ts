/** Reads the transcript of a session: JSON lines as Claude Code and oh-my-opencode write them, or plain text. */
import { textOf } from '../../files/files.ts';
import { isRecord } from '../../loop/shape.ts';
import type { HookMessage } from './types.ts';

export interface Transcript {
  /** Null if it has no JSON lines: then it does not say who wrote what. */
  readonly messages: readonly HookMessage[] | null;
  readonly text: string;
}

/** Null if there is no such file, or if it cannot be read. */
export function readTranscript(path: string): Transcript | null {
  const text = textOf(path);
  if (text === null) return null;
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const isJson = lines[0] !== undefined && entryIn(lines[0]) !== null;
  return { messages: isJson ? lines.flatMap((line) => messagesOf(entryIn(line))) : null, text };
}

type Entry = Readonly<Record<string, unknown>>;

/** Null for a line that is no entry, such as one that is still being written. */
function entryIn(line: string): Entry | null {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function messagesOf(entry: Entry | null): readonly HookMessage[] {
  if (entry === null) return [];
  const inner = isRecord(entry['message']) ? entry['message'] : entry;
  const said = inner['content'] ?? inner['text'] ?? entry['tool_output'];
  return partsOf(said, roleOf(entry['type'] ?? inner['role']));
}

/** A text, or a list of parts, some of which are of another kind than the entry. */
function partsOf(said: unknown, role: string): readonly HookMessage[] {
  if (typeof said === 'string') return [{ role, content: said }];
  if (Array.isArray(said)) return said.flatMap((part: unknown) => partsOf(part, role));
  if (!isRecord(said)) return [];
  const kind = said['type'] === 'text' || said['type'] === undefined ? role : roleOf(said['type']);
  return partsOf(said['text'] ?? said['thinking'] ?? said['content'] ?? said['output'], kind);
}

function roleOf(type: unknown): string {
  return typeof type === 'string' ? (ROLES[type] ?? type) : 'unknown';
}

const ROLES: Readonly<Record<string, string>> = {
  tool_result: 'tool',
  tool_use: 'tool-call',
  thinking: 'reasoning',
  redacted_thinking: 'reasoning',
};
