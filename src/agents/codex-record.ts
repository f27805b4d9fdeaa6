/**
 * What codex records about a run itself. Its stream reports usage only when a turn completes, so a run that failed or was
 * stopped has none there. Its session file has the totals of the session after every answer of the model:
 * `$CODEX_HOME/sessions/YYYY/MM/DD/rollout-<time>-<thread id>.jsonl`.
 */
import { join } from 'node:path';
import { namesIn } from '../files/files.ts';
import type { Tokens } from '../loop/event.ts';
import { subtractTokens } from '../loop/limits.ts';
import type { RecordedRun, Usage, UsageRecord } from './agent.ts';
import { count, isRecord, parsed, record, text, type Json } from './json.ts';
import { folderOf, RecordFile } from './record-file.ts';
import { sumOf } from './run-usage.ts';

/** The usage of a run in codex's session file. `usageOf` reads a usage record. */
export function codexRecord({ env, startedAt }: RecordedRun, usageOf: (usage: Json) => Usage): UsageRecord {
  const home = folderOf(env, 'CODEX_HOME', '.codex');
  let file: RecordFile | null = null;
  let before: Usage | null = null;
  let after: Usage | null = null;
  const take = (line: string): void => {
    const total = totalIn(line);
    if (total === null) return;
    if (total.at < startedAt) before = greater(before, usageOf(total.usage));
    else after = greater(after, usageOf(total.usage));
  };
  return {
    read({ session, stderr }) {
      const thread = session ?? SESSION_LINE.exec(stderr)?.[1] ?? '';
      // The id comes from the output of a program, and must not lead out of the folder.
      if (file === null && home !== null && THREAD_ID.test(thread)) {
        const path = findSession(join(home, 'sessions'), thread, startedAt);
        file = path === null ? null : new RecordFile(path, take);
      }
      file?.read();
      if (file === null || after === null) return null;
      // The totals are those of the whole session, which may have begun in an earlier run.
      if (before === null) return { ...after, isWholeSession: !file.isWhole };
      return { ...after, parts: difference(after, before), isWholeSession: false };
    },
  };
}

/** In text mode codex prints its session id on stderr. */
const SESSION_LINE = /^session id: (\S+)$/m;
const THREAD_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Looks in the folders of the days on which the session may have begun: an id begins with the time of its creation. */
function findSession(sessions: string, thread: string, startedAt: number): string | null {
  const created = Number.parseInt(thread.replace('-', '').slice(0, 12), 16);
  for (const moment of [created, startedAt]) {
    for (const days of [0, -1, 1]) {
      const folder = join(sessions, ...dayOf(moment + days * DAY_MS));
      const name = namesIn(folder).find(
        (one) => one.startsWith('rollout-') && one.endsWith(`-${thread}.jsonl`),
      );
      if (name !== undefined) return join(folder, name);
    }
  }
  return null;
}

const DAY_MS = 86_400_000;

/** Year, month and day; the time zone of the agent is unknown, so the days before and after count too. */
function dayOf(moment: number): readonly string[] {
  const date = new Date(moment);
  return Number.isNaN(date.getTime()) ? ['unknown'] : date.toISOString().slice(0, 10).split('-');
}

/** The total of the session in a line of its file, and its time; null for any other line. */
export function totalIn(line: string): { readonly at: number; readonly usage: Json } | null {
  if (!/"(?:token_count|token_usage_record)"/.test(line)) return null;
  const entry = parsed(line);
  const payload = record(entry['payload']);
  const usage =
    entry['type'] === 'token_usage_record'
      ? // Newer versions write it before the tools of the answer run, so it is there if one of them was stopped.
        payload['thread_token_usage']
      : record(payload['info'])['total_token_usage'];
  const at = Date.parse(text(entry['timestamp']));
  if (!isRecord(usage) || Number.isNaN(at)) return null;
  const numbers = Object.values(usage).filter((value) => typeof value === 'number');
  const isUsage = [usage['input_tokens'], usage['output_tokens'], ...numbers].every(isCount);
  return isUsage ? { at, usage } : null;
}

/** Codex counts over the whole session, and its input includes the tokens from the cache. */
export function tokensOf(usage: Json): Tokens {
  const cacheRead = count(usage['cached_input_tokens']);
  const cacheWrite = count(usage['cache_write_input_tokens']);
  return {
    input: Math.max(0, count(usage['input_tokens']) - cacheRead - cacheWrite),
    output: count(usage['output_tokens']),
    cacheRead,
    cacheWrite,
  };
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** A total only grows; the agent could write a smaller one into its own record. */
function greater(a: Usage | null, b: Usage): Usage {
  return a !== null && sumOf(a.parts) > sumOf(b.parts) ? a : b;
}

function difference(after: Usage, before: Usage): Usage['parts'] {
  return after.parts.map((part, index) => {
    const earlier = before.parts[index]?.tokens;
    return earlier === undefined ? part : { ...part, tokens: subtractTokens(part.tokens, earlier) };
  });
}
