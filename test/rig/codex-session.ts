import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = new URL('../fixtures/session/codex/', import.meta.url);

/** The recorded input of a hook of Codex, with some fields replaced. */
export function recordedInput(name: string, fields: Readonly<Record<string, unknown>> = {}): unknown {
  const input: unknown = JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8'));
  return Object.assign({}, input, fields);
}

/** Writes the first lines of the recorded session file into a folder, as if they had been written at this time. */
export function recordedRollout(folder: string, lines: number, writtenAt?: number): string {
  const path = join(folder, 'rollout.jsonl');
  const recorded = readFileSync(new URL('rollout.jsonl', FOLDER), 'utf8').split('\n').slice(0, lines);
  const time = writtenAt === undefined ? null : new Date(writtenAt).toISOString();
  const written = recorded.map((line) =>
    time === null ? line : line.replace(/"timestamp":"[^"]*"/, `"timestamp":"${time}"`),
  );
  writeFileSync(path, `${written.join('\n')}\n`);
  return path;
}
