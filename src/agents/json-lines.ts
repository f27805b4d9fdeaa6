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
  const take = (found: readonly AgentEvent[], events: AgentEvent[]): void => {
    for (const event of found) {
      hasResult ||= event.type === 'result';
      events.push(event);
    }
  };
  return {
    push(chunk) {
      const events: AgentEvent[] = [];
      for (const line of lines.push(chunk)) take(read(line, protocol), events);
      return events;
    },
    end() {
      const last = lines.end();
      const events: AgentEvent[] = [];
      if (last !== undefined) take(read(last, protocol), events);
      take(protocol.end?.() ?? [], events);
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

/** The events of a line; null is one that was too long. */
function read(line: string | null, protocol: Protocol): readonly AgentEvent[] {
  if (line === null) return [{ type: 'unknown', line: '', isPlain: false }];
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
