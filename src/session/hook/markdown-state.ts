/** The state as `.supercode/ralph-loop.local.md`: front matter, and the task as the body. Ralph itself never reads it back. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { below } from '../../files/below.ts';
import { codeOf, textOf } from '../../files/files.ts';
import { replaceFile } from '../../files/replace-file.ts';
import type { RalphLoopState } from '../session-file.ts';

/** The state in the Markdown file of a folder; null if there is none or it is not valid. */
export function readMarkdownState(workdir: string): RalphLoopState | null {
  try {
    const text = below(workdir, [FOLDER], { make: false }, (folder) => textOf(join(folder, FILE)));
    return text === null ? null : parseMarkdownState(text);
  } catch {
    return null;
  }
}

export function writeMarkdownState(workdir: string, state: RalphLoopState): void {
  below(workdir, [FOLDER], { make: true }, (folder) => replaceFile(join(folder, FILE), markdownState(state)));
}

/** Removes the file if it is that of the session: a later loop of another session may have replaced it. */
export function clearMarkdownState(workdir: string, session: string): void {
  if (readMarkdownState(workdir)?.sessionId !== session) return;
  try {
    below(workdir, [FOLDER], { make: false }, (folder) => rmSync(join(folder, FILE), { force: true }));
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

const FOLDER = '.supercode';
const FILE = 'ralph-loop.local.md';

function markdownState(state: RalphLoopState): string {
  return [
    '---',
    `active: ${state.active}`,
    `iteration: ${state.iteration}`,
    `max_iterations: ${state.maxIterations}`,
    `completion_promise: ${JSON.stringify(state.completionPromise)}`,
    `started_at: ${JSON.stringify(state.startedAt)}`,
    `session_id: ${JSON.stringify(state.sessionId)}`,
    '---',
    state.prompt,
    '',
  ].join('\n');
}

export function parseMarkdownState(text: string): RalphLoopState | null {
  const [, matter, prompt] = /^---\r?\n([\s\S]*?)\r?\n---\r?\n([\s\S]*)$/.exec(text) ?? [];
  if (matter === undefined || prompt === undefined) return null;
  const lines = matter.split(/\r?\n/).map((line) => /^(\w+):(.*)$/.exec(line) ?? []);
  const values = new Map(lines.map(([, key = '', value = '']) => [key, unquoted(value.trim())]));
  const [active, promise, startedAt, sessionId] = [
    'active',
    'completion_promise',
    'started_at',
    'session_id',
  ].map((key) => values.get(key));
  const [iteration, maxIterations] = ['iteration', 'max_iterations'].map((key) => whole(values.get(key)));
  if (active !== 'true' && active !== 'false') return null;
  if (iteration === undefined || maxIterations === undefined) return null;
  if (iteration === null || maxIterations === null) return null;
  if (promise === undefined || startedAt === undefined || sessionId === undefined) return null;
  return {
    active: active === 'true',
    iteration,
    maxIterations,
    completionPromise: promise,
    startedAt,
    prompt: prompt.replace(/\r?\n$/, ''),
    sessionId,
  };
}

function whole(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** Other programs write the values without quotes, or in single ones. */
function unquoted(value: string): string {
  try {
    const parsed: unknown = value.startsWith('"') ? JSON.parse(value) : value;
    if (typeof parsed === 'string') return parsed.replace(/^'(.*)'$/, '$1');
  } catch {
    // Not as JSON writes it.
  }
  return value;
}
