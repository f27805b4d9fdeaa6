import { readFileSync } from 'node:fs';
import { processes } from '../process/process.ts';

/** What others are told about who owns a loop; the lock does not depend on it. */
export interface LockOwner {
  readonly pid: number;
  /** When that process was born, so that it can be told from another with its pid. */
  readonly since: string;
}

/** Who took the lock last; they may be gone. */
export function readOwner(path: string): LockOwner | null {
  try {
    const owner: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof owner !== 'object' || owner === null || !('pid' in owner) || !('since' in owner)) return null;
    return { pid: Number(owner.pid), since: String(owner.since) };
  } catch {
    return null;
  }
}

/** This process, as others see it when they want the lock. */
export function thisProcess(): LockOwner {
  return { pid: process.pid, since: processes.birth(process.pid)?.startTime ?? '' };
}
