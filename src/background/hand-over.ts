import type { CreatedLoop } from '../owner/created-loop.ts';
import { notInBackground } from '../owner/loop-environment.ts';
import { watchUntil } from '../process/watch.ts';
import { enlist, isEnlisted, whyRefused } from '../home/background.ts';
import { savedEnvironment } from '../home/saved-environment.ts';
import { liveOwner, readLoopAt } from '../home/read-loop.ts';
import type { LoopFolder } from '../home/home.ts';
import { UserError } from '../user-error.ts';
import { ensureDaemon } from './daemon-process.ts';
import { daemonLog, daemonPid } from './place.ts';

/** Gives a locked loop to the daemon; resolves once the daemon owns it, or the loop has ended or paused already. */
export async function handOver(loop: Pick<CreatedLoop, 'spec' | 'folder' | 'giveAway'>): Promise<void> {
  const { folder, spec } = loop;
  // Before the loop is given away, so that a crash in between does not leave it without an owner.
  try {
    enlist(spec.id);
  } finally {
    // This process may live on, and would seem to own the loop.
    loop.giveAway();
  }
  if (savedEnvironment(spec.id) === null) throw notInBackground(spec.name, 3);
  // Once more, so that the daemon looks now: the loop has no owner any more.
  enlist(spec.id);
  if (!(await isOwned(folder))) throw notTaken(folder);
}

/** Waits until the daemon owns a loop that is enlisted; false if it does not take it. Starts a daemon where none runs. */
export async function isOwned(folder: LoopFolder): Promise<boolean> {
  let nextStart = 0;
  const look = (): boolean | null => {
    const owner = liveOwner(folder);
    // Another process may have the lock for a moment, to see whether a dead creator has left the loop.
    if (owner !== null && owner === daemonPid()) return true;
    if (!isEnlisted(folder.id)) return owner !== null || isAtRest(folder);
    if (performance.now() >= nextStart) {
      nextStart = performance.now() + START_MS;
      ensureDaemon();
    }
    return null;
  };
  return (await watchUntil(folder.path, look, AbortSignal.timeout(TIMEOUT_MS))) ?? false;
}

/** A short loop may have ended, or paused, before it was looked at. */
function isAtRest(folder: LoopFolder): boolean {
  const state = readLoopAt(folder)?.state;
  return state !== undefined && (state.outcome !== null || state.control.paused);
}

function notTaken(folder: LoopFolder): UserError {
  const { name } = folder;
  const why = whyRefused(folder.id) ?? 'it did not take the loop over in time';
  return new UserError(
    `the daemon cannot run "${name}": ${why}; its log is ${daemonLog()}; continue the loop with: ralph resume ${name}`,
    3,
  );
}

/** A daemon that was started needs a moment to take its lock. */
const START_MS = 2000;

/** More than a busy machine needs to start a process. */
const TIMEOUT_MS = 30_000;
