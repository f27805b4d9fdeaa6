import { foundAt } from '../files/files.ts';
import type { Control } from '../loop/event.ts';
import { openedBy } from '../process/open-files.ts';
import { watchUntil } from '../process/watch.ts';
import { UserError } from '../user-error.ts';
import { post } from './inbox.ts';
import { liveOwner, readLoopAt, type LoopReading } from './read-loop.ts';

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
