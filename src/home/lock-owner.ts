import { readJsonFile } from '../files/files.ts';
import { fields, fits, shortText, whole } from '../loop/shape.ts';
import type { Birth } from '../process/process-table.ts';
import { processes } from '../process/process.ts';

/** The owner of a loop, as the lock file shows it to other processes. The lock itself does not depend on it. */
export interface LockOwner {
  readonly pid: number;
  /** When the process started, which distinguishes it from a later process with the same pid. */
  readonly since: string;
  /** The boot that the time counts from: early processes have the same pid and time after every boot. */
  readonly boot: string;
}

/** The pid of the process that has a lock, as far as its file says; null if that process has ended. */
export function livingOwner(path: string): number | null {
  const owner = readOwner(path);
  const birth = owner === null ? null : processes.birth(owner.pid);
  if (owner === null || birth === null || !processes.lives(birth)) return null;
  const isSame = birth.startTime === owner.since && owner.boot === birth.bootId;
  return isSame ? owner.pid : null;
}

/** The process that took the lock last; it may have exited. */
export function readOwner(path: string): LockOwner | null {
  const owner = readJsonFile(path, MAX_BYTES);
  return isOwner(owner) ? owner : null;
}

function isOwner(value: unknown): value is LockOwner {
  return fits(OWNER, value);
}

const OWNER = fields({ pid: whole(1), since: shortText(100), boot: shortText(100) });
const MAX_BYTES = 1000;

export function thisProcess(): LockOwner {
  self ??= ownerOf(processes.birth(process.pid));
  return self;
}

let self: LockOwner | null = null;

function ownerOf(birth: Birth | null): LockOwner {
  return { pid: process.pid, since: birth?.startTime ?? '', boot: birth?.bootId ?? '' };
}
