import { dirname } from 'node:path';
import { codeOf } from '../files/files.ts';
import { watchUntil } from '../process/watch.ts';
import { UserError } from '../user-error.ts';
import { livingOwner } from './lock-owner.ts';

/**
 * Kills the process that has a lock, if it still is this one, and resolves when it is gone. For an owner that does not respond;
 * what it did survives in the journal.
 */
export async function killOwner(lock: string, pid: number): Promise<void> {
  // Its start time tells it from a later process with the same pid.
  if (livingOwner(lock) !== pid) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It has just ended.
    if (codeOf(error) !== 'ESRCH') throw error;
  }
  const isGone = (): true | null => (livingOwner(lock) === pid ? null : true);
  if ((await watchUntil(dirname(lock), isGone, AbortSignal.timeout(DYING_MS))) === null)
    throw new UserError(
      `process ${pid} does not end after SIGKILL: the system holds it, perhaps on a disk`,
      3,
    );
}

const DYING_MS = 10_000;
