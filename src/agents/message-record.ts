import type { Tokens } from '../loop/event.ts';
import type { KnownOutput, RecordedRun, UsageRecord } from './agent.ts';
import { parsed, type Json } from './json.ts';
import { MessageUsage } from './message-usage.ts';
import { RecordFile } from './record-file.ts';

/** The usage of a run whose CLI records each message with its usage. */
export function messageRecord(
  { startedAt }: Pick<RecordedRun, 'startedAt'>,
  { filesOf, messageOf, hint }: MessageRecordFormat,
): UsageRecord {
  const files = new Map<string, RecordFile>();
  const usage = new MessageUsage(MAX_OPEN_ANSWERS);
  const take = (line: string): void => {
    const message = line.includes(hint) ? messageOf(parsed(line)) : null;
    // A continued session repeats the messages of earlier runs.
    if (message !== null && message.at >= startedAt && isPossible(message.tokens))
      usage.add(message.id, message.tokens, message.model);
  };
  return {
    read(output) {
      for (const path of filesOf(output)) {
        if (!files.has(path) && files.size < MAX_FILES) files.set(path, new RecordFile(path, take));
        files.get(path)?.read();
      }
      return usage.total;
    },
  };
}

export interface MessageRecordFormat {
  /** The files of the session that there are now. */
  readonly filesOf: (output: KnownOutput) => readonly string[];
  /** A message with usage; null for any other line. `at` is NaN if it is unknown. */
  readonly messageOf: (entry: Json) => RecordedMessage | null;
  /** Every such line contains this; any other need not be parsed. */
  readonly hint: string;
}

export interface RecordedMessage {
  readonly id: string;
  readonly at: number;
  readonly model: string | null;
  readonly tokens: Tokens;
}

/** The id of a session, which comes from the output of a program, and must not lead out of a folder. */
export const SESSION_ID: RegExp = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The agent can write into the record. */
function isPossible(tokens: Tokens): boolean {
  return Object.values(tokens).every((count) => Number.isSafeInteger(count) && count <= MOST_OF_A_MESSAGE);
}

const MOST_OF_A_MESSAGE = 1e9;

/** A message may be recorded again much later. */
const MAX_OPEN_ANSWERS = 20_000;

/** A session has one file, and one for each of its subagents. */
const MAX_FILES = 1000;
