/**
 * Requests of `ralph` in a sandbox to the owner of its loop: one file per request, and one per answer. Agents write this folder, so
 * nothing in it is believed.
 *
 * 1. A request is a small regular file that the owner can read; links are not followed and named pipes are not waited for.
 *    Anything else is moved aside and changes nothing.
 * 2. A request is taken before it is carried out: it is never carried out twice.
 */
import { randomUUID } from 'node:crypto';
import { lstatSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJsonFile } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { isRecord } from '../loop/shape.ts';
import { watchUntil } from '../process/watch.ts';

export type SandboxAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string; readonly exitCode: number };

/** Puts a request into the folder, and returns its id. */
export function ask(folder: string, request: object): string {
  const id = `${String(Date.now()).padStart(15, '0')}-${randomUUID()}`;
  replaceFile(join(folder, `${id}.json`), `${JSON.stringify(request)}\n`);
  return id;
}

/** The answer to a request; null while there is none. */
export function takeAnswer(folder: string, id: string): SandboxAnswer | null {
  const path = join(folder, `${id}.answer`);
  const value = readJsonFile(path, MAX_ANSWER_BYTES);
  if (!isRecord(value) || typeof value['ok'] !== 'boolean') return null;
  rmSync(path, { force: true });
  return value['ok']
    ? { ok: true, value: value['value'] }
    : { ok: false, message: String(value['message']), exitCode: Number(value['exitCode']) };
}

/** Answers the requests in the folder, oldest first; returns the names of those that are unreadable and were moved aside. */
export function answerRequests(
  folder: string,
  /** Null for a request that is unreadable. */
  answer: (request: unknown) => Promise<SandboxAnswer> | null,
): readonly string[] {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return names
    .toSorted()
    .slice(0, MOST_AT_ONCE)
    .flatMap((name) => {
      const path = join(folder, name);
      const answered = ID.test(name) ? answer(readJsonFile(path, MAX_REQUEST_BYTES)) : null;
      if (answered === null) {
        renameSync(path, `${path}.unreadable`);
        return [name];
      }
      rmSync(path, { force: true });
      const write = (one: SandboxAnswer): void =>
        replaceFile(join(folder, name.replace(/json$/, 'answer')), `${JSON.stringify(one)}\n`);
      // The agent may have removed the folder meanwhile.
      void answered.then(write).catch(() => {});
      return [];
    });
}

const MOST_AT_ONCE = 100;
export const MAX_REQUEST_BYTES: number = 256 * 1024;
/** The view of a loop with many iterations. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const ID = /^\d{15}-[\da-f-]{36}\.json$/;

/** Asks the owner of the sandbox's loop and waits for the answer; null if there is none in time. */
export async function askOwner(
  folder: string,
  request: object,
  timeoutMs: number,
): Promise<SandboxAnswer | null> {
  const id = ask(folder, request);
  const answer = await watchUntil(folder, () => takeAnswer(folder, id), AbortSignal.timeout(timeoutMs));
  // The next owner must not carry out what was given up.
  if (answer === null) rmSync(join(folder, `${id}.json`), { force: true });
  return answer;
}
