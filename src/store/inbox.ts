/**
 * What people and programs want of a loop, one file a message. A file is written aside and renamed in, so that it is
 * whole when it is seen; names sort by the time they were made. The owner journals a message before it removes the
 * file, and a message whose id the journal knows is dropped: so the sender can be told queued, delivered or used.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Control } from '../loop/event.ts';
import { replaceFile } from './replace-file.ts';

export interface Message {
  readonly id: string;
  readonly control: Control;
}

/** Puts a message into the inbox and tells its id. */
export function post(folder: string, control: Control, now: number): string {
  mkdirSync(folder, { recursive: true });
  const id = `${String(now).padStart(15, '0')}-${randomUUID()}`;
  replaceFile(join(folder, `${id}.json`), `${JSON.stringify(control)}\n`, { flush: true });
  return id;
}

/** The messages that lie in the inbox, oldest first; what is none is left lying there. */
export function list(folder: string): readonly Message[] {
  const names = existsSync(folder) ? readdirSync(folder).toSorted() : [];
  return names.flatMap((name) => {
    if (name.startsWith('.') || !name.endsWith('.json')) return [];
    const control = readControl(join(folder, name));
    return control === null ? [] : [{ id: name.slice(0, -'.json'.length), control }];
  });
}

/** Whether a message still waits to be heard. */
export function isQueued(folder: string, id: string): boolean {
  return existsSync(join(folder, `${id}.json`));
}

/** Removes a message that the journal knows. */
export function remove(folder: string, id: string): void {
  rmSync(join(folder, `${id}.json`), { force: true });
}

const TYPES = new Set(['pause', 'resume', 'stop', 'signal', 'tell', 'abort', 'set']);

function readControl(path: string): Control | null {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof value !== 'object' || value === null || !('type' in value) || !TYPES.has(String(value.type)))
      return null;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `post`; the gate of the journal judges its values
    return value as Control;
  } catch {
    return null;
  }
}
