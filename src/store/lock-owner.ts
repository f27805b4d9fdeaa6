import { readJsonFile } from '../files/read-json.ts';
import { fields, fits, shortText, whole } from '../loop/shape.ts';
import { processes } from '../process/process.ts';

/** The owner of a loop, as the lock file shows it to other processes. The lock itself does not depend on it. */
export interface LockOwner {
  readonly pid: number;
  /** When the process started, which distinguishes it from a later process with the same pid. */
  readonly since: string;
}

/** The process that took the lock last; it may have exited. */
export function readOwner(path: string): LockOwner | null {
  const owner = readJsonFile(path, MAX_BYTES);
  return isOwner(owner) ? owner : null;
}

function isOwner(value: unknown): value is LockOwner {
  return fits(OWNER, value);
}

const OWNER = fields({ pid: whole(1), since: shortText(100) });
const MAX_BYTES = 1000;

export function thisProcess(): LockOwner {
  return { pid: process.pid, since: processes.birth(process.pid)?.startTime ?? '' };
}
