/**
 * The inbox of a loop: controls that people and programs send to it, one file per message.
 *
 * 1. A message appears complete, because its file is written elsewhere and renamed. File names sort by time.
 * 2. The owner journals a message before it removes the file, and drops a message whose id is in the journal. So every
 *    message counts once, and its sender can see whether it is queued or delivered.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Control } from '../loop/event.ts';
import { PRIVATE_FILE, PRIVATE_FOLDER, textOf } from '../files/files.ts';
import { makeFolders } from '../files/make-folders.ts';
import { replaceFile } from '../files/replace-file.ts';

export interface Message {
  readonly id: string;
  readonly control: Control;
}

/** Puts a message into the inbox and returns its id. */
export function post(folder: string, control: Control, now: number): string {
  makeFolders(folder, PRIVATE_FOLDER);
  const id = `${String(now).padStart(15, '0')}-${randomUUID()}`;
  replaceFile(join(folder, `${id}.json`), `${JSON.stringify(control)}\n`, {
    flush: true,
    mode: PRIVATE_FILE,
  });
  return id;
}

/** The messages in the inbox, oldest first. Other files are ignored. */
export function list(folder: string): readonly Message[] {
  const names = existsSync(folder) ? readdirSync(folder).toSorted() : [];
  return names.flatMap((name) => {
    if (name.startsWith('.') || !name.endsWith('.json')) return [];
    const control = readControl(join(folder, name));
    return control === null ? [] : [{ id: name.slice(0, -'.json'.length), control }];
  });
}

export function isQueued(folder: string, id: string): boolean {
  return existsSync(join(folder, `${id}.json`));
}

/** Removes a message; the journal must have it. */
export function remove(folder: string, id: string): void {
  rmSync(join(folder, `${id}.json`), { force: true });
}

const TYPES = new Set(['pause', 'resume', 'stop', 'signal', 'tell', 'abort', 'set']);

function readControl(path: string): Control | null {
  try {
    const value: unknown = JSON.parse(textOf(path) ?? 'null');
    if (typeof value !== 'object' || value === null || !('type' in value) || !TYPES.has(String(value.type)))
      return null;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `post`; `admits` validates its values
    return value as Control;
  } catch {
    return null;
  }
}
