/**
 * What Claude Code records about a run itself: every message with its final usage, which its stream reports only in the result. The
 * files are `projects/<folder>/<session>.jsonl` and, of its subagents, those below `projects/<folder>/<session>/subagents`.
 */
import { join } from 'node:path';
import { foundAt, namesIn } from '../files/files.ts';
import type { Tokens } from '../loop/event.ts';
import type { RecordedRun, UsageRecord } from './agent.ts';
import { record, text, textOrNull, type Json } from './json.ts';
import { messageRecord, SESSION_ID } from './message-record.ts';
import { folderOf } from './record-file.ts';

/** The usage of a run in the files of its session. `tokensOf` reads a usage record. */
export function claudeRecord(run: RecordedRun, tokensOf: (usage: Json) => Tokens): UsageRecord {
  const home = folderOf(run.env, 'CLAUDE_CONFIG_DIR', '.claude');
  /** By session id, its file without the ending: a session that is cleared goes on under another id. */
  const found = new Map<string, string>();
  return messageRecord(run, {
    hint: '"usage"',
    filesOf({ session }) {
      if (home !== null && session !== null && SESSION_ID.test(session) && !found.has(session)) {
        const path = findSession(join(home, 'projects'), session);
        if (path !== null) found.set(session, path);
      }
      return [...found.values()].flatMap((path) =>
        [`${path}.jsonl`].concat(recordsBelow(join(path, 'subagents'))),
      );
    },
    messageOf(entry) {
      const message = record(entry['message']);
      const id = textOrNull(message['id']);
      if (entry['type'] !== 'assistant' || id === null) return null;
      return {
        id,
        at: Date.parse(text(entry['timestamp'])),
        model: textOrNull(message['model']),
        tokens: tokensOf(record(message['usage'])),
      };
    },
  });
}

/** The folder is named after the one in which claude was started, in a way that differs between versions. */
function findSession(projects: string, session: string): string | null {
  const folder = namesIn(projects).find((name) => foundAt(join(projects, name, `${session}.jsonl`)) !== null);
  return folder === undefined ? null : join(projects, folder, session);
}

/** The records in a folder, and in the folders in it. */
function recordsBelow(folder: string, depth: number = 2): readonly string[] {
  if (depth === 0 || foundAt(folder)?.isDirectory() !== true) return [];
  return namesIn(folder).flatMap((name) => {
    const path = join(folder, name);
    return name.endsWith('.jsonl') ? [path] : recordsBelow(path, depth - 1);
  });
}
