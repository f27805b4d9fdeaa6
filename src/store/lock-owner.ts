import { readFileSync } from 'node:fs';
import { processes } from '../process/process.ts';

/** The owner of a loop, as the lock file shows it to other processes. The lock itself does not depend on it. */
export interface LockOwner {
  readonly pid: number;
  /** When the process started, which distinguishes it from a later process with the same pid. */
  readonly since: string;
}

/** The process that took the lock last; it may have exited. */
export function readOwner(path: string): LockOwner | null {
  try {
    const owner: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof owner !== 'object' || owner === null || !('pid' in owner) || !('since' in owner)) return null;
    return { pid: Number(owner.pid), since: String(owner.since) };
  } catch {
    return null;
  }
}

export function thisProcess(): LockOwner {
  return { pid: process.pid, since: processes.birth(process.pid)?.startTime ?? '' };
}
