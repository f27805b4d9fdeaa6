/**
 * What Gemini CLI records about a run itself: every message with its usage, which its stream reports only at its end. The file is
 * `tmp/<folder>/chats/session-<time>-<beginning of the session id>.jsonl`.
 */
import { join } from 'node:path';
import { namesIn } from '../files/files.ts';
import type { RecordedRun, UsageRecord } from './agent.ts';
import { count, isRecord, text, textOrNull } from './json.ts';
import { messageRecord, SESSION_ID } from './message-record.ts';
import { folderOf } from './record-file.ts';

export function geminiRecord(run: RecordedRun): UsageRecord {
  const home = folderOf(run.env, 'GEMINI_CLI_HOME', '.');
  let found: string | null = null;
  return messageRecord(run, {
    hint: '"tokens"',
    filesOf({ session }) {
      if (home !== null && session !== null && SESSION_ID.test(session))
        found ??= findSession(join(home, '.gemini', 'tmp'), session);
      return found === null ? [] : [found];
    },
    messageOf(entry) {
      const { id, type, tokens } = entry;
      if (type !== 'gemini' || typeof id !== 'string' || !isRecord(tokens)) return null;
      const [all, cacheRead] = [count(tokens['input']), count(tokens['cached'])];
      return {
        id,
        at: Date.parse(text(entry['timestamp'])),
        model: textOrNull(entry['model']),
        tokens: {
          input: Math.max(0, all - cacheRead),
          output: count(tokens['output']) + count(tokens['thoughts']),
          cacheRead,
          cacheWrite: 0,
        },
      };
    },
  });
}

function findSession(folder: string, session: string): string | null {
  for (const name of namesIn(folder)) {
    const chats = join(folder, name, 'chats');
    const file = namesIn(chats).find((one) => one.endsWith(`-${session.slice(0, 8)}.jsonl`));
    if (file !== undefined) return join(chats, file);
  }
  return null;
}
