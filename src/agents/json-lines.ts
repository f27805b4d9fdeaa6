import { LineSplitter } from '../process/lines.ts';
import type { AgentEvent, StreamParser } from './agent.ts';
import { isRecord, type Json } from './json.ts';

/** What one CLI's records mean. */
export interface Protocol {
  /** What a record says; null for one that it does not know. */
  take(record: Json): readonly AgentEvent[] | null;
  /** What it all came to, where nobody has said so. */
  end?(): readonly AgentEvent[];
  /** It need not say how it ended; any other has been cut off if it does not. */
  readonly isSilent?: boolean;
}

/** Reads a stream of JSON lines. Whatever is not one of its records is counted and passed by. */
export function jsonLines(protocol: Protocol): StreamParser {
  const lines = new LineSplitter();
  let hasResult = false;
  const take = (line: string | null): readonly AgentEvent[] => {
    const events =
      line === null ? [{ type: 'unknown', line: '', isPlain: false } as const] : read(line, protocol);
    hasResult ||= events.some(({ type }) => type === 'result');
    return events;
  };
  return {
    push: (chunk) => lines.push(chunk).flatMap(take),
    end() {
      const last = lines.end();
      const events = last === undefined ? [] : [...take(last)];
      events.push(...(protocol.end?.() ?? []));
      hasResult ||= events.some(({ type }) => type === 'result');
      return hasResult || protocol.isSilent === true ? events : [...events, CUT_OFF];
    },
  };
}

/** An exit code of 0 is no success where a success is said in so many words. */
export const CUT_OFF: Extract<AgentEvent, { type: 'result' }> = {
  type: 'result',
  ok: false,
  text: null,
  usage: null,
  session: null,
  error: { kind: 'other', message: 'the agent ended without a result' },
};

function read(line: string, protocol: Protocol): readonly AgentEvent[] {
  if (line.trim() === '') return [];
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return [{ type: 'unknown', line, isPlain: true }];
  }
  if (!isRecord(value)) return [{ type: 'unknown', line, isPlain: true }];
  return protocol.take(value) ?? [{ type: 'unknown', line, isPlain: false }];
}
