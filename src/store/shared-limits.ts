/**
 * Usage limits that loops of one account have met: one file an account under the XDG state folder, so that the others need
 * not run into the same wall. Nothing depends on it; a file that cannot be read or written is none.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { readJson, removeQuietly, stateFolder, writeAside } from './state-folder.ts';

export interface SharedLimit {
  readonly resetsAt: number;
  readonly message: string;
  /** When it was met. */
  readonly metAt: number;
}

/** A name for whoever pays, that gives nothing away. */
export function accountKey(agent: string, credentials: readonly string[]): string {
  const sum = createHash('sha256').update(JSON.stringify([agent, ...credentials]));
  return `${agent}-${sum.digest('hex').slice(0, 16)}`;
}

export function shareLimit(account: string, limit: SharedLimit, state: string = stateFolder()): void {
  try {
    writeAside(folderIn(state), account, limit, 0o600);
  } catch {
    // Then each finds out for itself.
  }
}

/** The limit that is not over yet. */
export function sharedLimit(account: string, now: number, state: string = stateFolder()): SharedLimit | null {
  const value = readJson(fileOf(account, state));
  if (typeof value !== 'object' || value === null) return null;
  const { resetsAt, message, metAt } = value as Partial<Record<keyof SharedLimit, unknown>>;
  if (typeof resetsAt !== 'number' || typeof message !== 'string' || typeof metAt !== 'number') return null;
  return resetsAt > now && resetsAt < metAt + LONGEST ? { resetsAt, message, metAt } : null;
}

/** Whoever began at this moment was served: a limit that was met before is over. */
export function unshareLimit(account: string, began: number, state: string = stateFolder()): void {
  const known = sharedLimit(account, 0, state);
  if (known === null || known.metAt <= began) removeQuietly(fileOf(account, state));
}

/** Nobody limits anybody for longer: whatever says so is no limit. */
const LONGEST = 40 * 86_400_000;

function folderIn(state: string): string {
  return join(state, 'limits');
}

function fileOf(account: string, state: string): string {
  return join(folderIn(state), `${account}.json`);
}
