import { dirname } from 'node:path';
import { codeOf, foundAt } from '../files/files.ts';
import { watchUntil } from '../process/watch.ts';
import { UserError } from '../user-error.ts';
import { livingOwner } from './lock-owner.ts';
import type { Control } from '../loop/event.ts';
import { openedBy } from '../process/open-files.ts';
import { post } from './inbox.ts';
import { liveOwner, readLoopAt, type LoopReading } from './read-loop.ts';

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

/**
 * Tells the owner of a loop to end it, if the lock is taken and does not say by which process: on a full disk an owner cannot write
 * that down. Returns once the owner is known or the loop has ended; throws if neither happens.
 */
export async function askNamelessOwner({ spec, folder }: LoopReading, stop: Control): Promise<void> {
  const isKnown = (): true | null =>
    liveOwner(folder) !== null || (readLoopAt(folder)?.state.outcome ?? null) !== null ? true : null;
  // Another process has taken the loop over meanwhile.
  if (isKnown() !== null) return;
  post(folder.inbox, stop, Date.now());
  if ((await watchUntil(folder.path, isKnown, AbortSignal.timeout(ANSWER_MS))) !== null) return;
  const lock = foundAt(folder.lock);
  const pids = lock === null ? [] : openedBy(lock);
  const who = pids.length === 0 ? '' : `; ${folder.lock} is open in process ${pids.join(' and ')}`;
  throw new UserError(
    `loop ${spec.name} has an owner that does not respond, and its lock does not say which process that is${who}; end that process, then kill the loop again`,
    3,
  );
}

/** More than an owner takes to end an agent that does not have to be killed. */
const ANSWER_MS = 10_000;
