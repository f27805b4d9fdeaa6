import { LineSplitter } from '../process/lines.ts';
import type { AgentEvent, StreamParser } from './agent.ts';
import { isRecord, type Json } from './json.ts';

/** Translates the records of one CLI. */
export interface Protocol {
  /** Returns the events of a record; null for an unknown record. */
  take(record: Json): readonly AgentEvent[] | null;
  /** Returns the events that follow from the end of the stream. */
  end?(): readonly AgentEvent[];
  /** The stream may end without a result; for any other protocol that means that the agent was cut off. */
  readonly hasOptionalResult?: boolean;
}

/** Reads a stream of JSON lines. Lines that are not records of the protocol become `unknown` events. */
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
      return hasResult || protocol.hasOptionalResult === true ? events : [...events, CUT_OFF];
    },
  };
}

/** If the stream reports success explicitly, an exit code of 0 alone is not a success. */
export const CUT_OFF: Extract<AgentEvent, { type: 'result' }> = {
  type: 'result',
  ok: false,
  text: null,
  usage: null,
  session: null,
  error: {
    kind: 'other',
    message: 'the agent ended without reporting a result; see stdout.log and stderr.log of this run',
  },
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
