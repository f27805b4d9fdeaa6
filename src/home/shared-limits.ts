/**
 * Usage limits that loops of the same account share, so that each does not have to hit the limit itself: one file per
 * account in the state folder. Sharing is optional: a file that cannot be read or written is ignored.
 */
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { readJsonFile } from '../files/files.ts';
import { fields, fits, moment, shortText } from '../loop/shape.ts';
import { removeQuietly, stateFolder, writeJson } from './state-folder.ts';

export interface SharedLimit {
  readonly resetsAt: number;
  readonly message: string;
  /** When a loop hit it. */
  readonly metAt: number;
}

/** An identifier for an account that does not reveal its credentials. */
export function accountKey(agent: string, credentials: readonly string[]): string {
  return `${agent}-${hash('sha256', JSON.stringify([agent, ...credentials])).slice(0, 16)}`;
}

export function shareLimit(account: string, limit: SharedLimit, state: string = stateFolder()): void {
  try {
    writeJson(folderIn(state), account, limit);
  } catch {
    // Then the other loops hit the limit themselves.
  }
}

/** The limit of an account, if it has not reset yet. */
export function sharedLimit(account: string, now: number, state: string = stateFolder()): SharedLimit | null {
  const value = readJsonFile(fileOf(account, state));
  if (!isSharedLimit(value)) return null;
  const { resetsAt, message, metAt } = value;
  return resetsAt > now && resetsAt < metAt + MAX_WAIT_MS ? { resetsAt, message, metAt } : null;
}

/** Removes a limit after a run that started at `startedAt` succeeded: a limit that was hit before that is over. */
export function unshareLimit(account: string, startedAt: number, state: string = stateFolder()): void {
  const known = sharedLimit(account, 0, state);
  if (known === null || known.metAt <= startedAt) removeQuietly(fileOf(account, state));
}

function isSharedLimit(value: unknown): value is SharedLimit {
  return fits(SHARED_LIMIT, value);
}

const SHARED_LIMIT = fields({ resetsAt: moment, message: shortText(10_000), metAt: moment });

/** No provider limits for longer, so a file that says so is wrong. */
const MAX_WAIT_MS = 40 * 86_400_000;

function folderIn(state: string): string {
  return join(state, 'limits');
}

function fileOf(account: string, state: string): string {
  return join(folderIn(state), `${account}.json`);
}
