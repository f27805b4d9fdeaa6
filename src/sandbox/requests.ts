/**
 * Requests of `ralph` in a sandbox to the owner of its loop: one file per request, and one per answer. Agents write this folder, so
 * nothing in it is believed.
 *
 * 1. A request is a small regular file that fits its schema; links are not followed and named pipes are not waited for.
 *    Anything else is moved aside and changes nothing.
 * 2. A request concerns the loop of its own sandbox, and can only ask for its status or tell it something.
 */
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { isRecord } from '../loop/shape.ts';

export type SandboxRequest =
  | { readonly type: 'status'; readonly loop: string | null }
  | { readonly type: 'tell'; readonly loop: string; readonly text: string };

export type SandboxAnswer =
  | { readonly ok: true; readonly text: string; readonly summary: unknown }
  | { readonly ok: false; readonly message: string };

/** Puts a request into the folder, and returns its id. */
export function ask(folder: string, request: SandboxRequest): string {
  const id = `${String(Date.now()).padStart(15, '0')}-${randomUUID()}`;
  writeWhole(folder, `${id}.json`, request);
  return id;
}

/** The answer to a request; null while there is none. */
export function takeAnswer(folder: string, id: string): SandboxAnswer | null {
  const path = join(folder, `${id}.answer`);
  const value = readCarefully(path);
  if (!isRecord(value) || typeof value['ok'] !== 'boolean') return null;
  rmSync(path, { force: true });
  return value['ok']
    ? { ok: true, text: String(value['text']), summary: value['summary'] }
    : { ok: false, message: String(value['message']) };
}

/** Answers the requests in the folder, oldest first; returns the names of those that were moved aside. */
export function answerRequests(
  folder: string,
  answer: (request: SandboxRequest) => SandboxAnswer,
): readonly string[] {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return names
    .toSorted()
    .slice(0, MOST_AT_ONCE)
    .flatMap((name) => {
      const path = join(folder, name);
      const request = ID.test(name) ? requestIn(readCarefully(path)) : null;
      if (request === null) {
        renameSync(path, `${path}.unreadable`);
        return [name];
      }
      const answered = answer(request);
      rmSync(path, { force: true });
      writeWhole(folder, name.replace(/json$/, 'answer'), answered);
      return [];
    });
}

const MOST_AT_ONCE = 100;
const MAX_BYTES = 256 * 1024;
const ID = /^\d{15}-[\da-f-]{36}\.json$/;

/** Null if it does not fit the schema. */
function requestIn(value: unknown): SandboxRequest | null {
  if (!isRecord(value)) return null;
  const { type, loop, text } = value;
  if (type === 'status' && (loop === null || typeof loop === 'string') && Object.keys(value).length === 2)
    return { type, loop };
  if (type === 'tell' && typeof loop === 'string' && typeof text === 'string' && text.trim() !== '')
    return Object.keys(value).length === 3 ? { type, loop, text } : null;
  return null;
}

/** The JSON in a small regular file; null for anything else. */
function readCarefully(path: string): unknown {
  let descriptor: number | null = null;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { size, isFile } = about(descriptor);
    if (!isFile || size > MAX_BYTES) return null;
    const buffer = Buffer.alloc(size);
    const count = readSync(descriptor, buffer, 0, size, 0);
    return JSON.parse(buffer.toString('utf8', 0, count));
  } catch {
    return null;
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}

function about(descriptor: number): { readonly size: number; readonly isFile: boolean } {
  const stats = fstatSync(descriptor);
  return { size: stats.size, isFile: stats.isFile() };
}

/** A reader never sees a part of it. The temporary name cannot be guessed, and must be new. */
function writeWhole(folder: string, name: string, value: unknown): void {
  const temporary = join(folder, `.${randomUUID()}`);
  const descriptor = openSync(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    writeSync(descriptor, `${JSON.stringify(value)}\n`);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, join(folder, name));
}
