/** Starts a loop in the background. */
import { handOver } from '../background/hand-over.ts';
import type { StartRequest } from '../owner/make-request.ts';
import { AlreadyStarted } from '../owner/refusals.ts';
import { watchUntil } from '../process/watch.ts';
import { liveOwner, readLoopAt, type LoopReading } from '../home/read-loop.ts';
import { LoopFolder } from '../home/home.ts';
import { create, type CreateHelp } from './create.ts';
import { loopAt, ownedLoopAt } from './find.ts';
import type { Begun } from './loops.ts';
import type { Rights } from './rights.ts';

export interface GiveHelp extends Omit<CreateHelp, 'more'> {
  /** Called before the loop is given to the daemon. */
  readonly giving?: (loop: Begun) => void | Promise<void>;
}

/** Starts a loop in the background; returns once the daemon owns it. A request that is sent twice starts one loop. */
export async function start(
  asked: StartRequest,
  rights: Rights,
  { giving, ...help }: GiveHelp,
): Promise<LoopReading> {
  try {
    const loop = await create(asked, rights, { ...help, more: () => ({ place: 'background' }) });
    await giving?.(loop);
    await handOver(loop);
    return loopAt(loop.spec);
  } catch (error) {
    if (!(error instanceof AlreadyStarted)) throw error;
    await untilCreated(new LoopFolder(error.loop));
    return ownedLoopAt(error.loop);
  }
}

/** Waits for the first event of a loop that another process creates, or for the end of that process. */
async function untilCreated(folder: LoopFolder): Promise<void> {
  const isSettled = (): true | null =>
    readLoopAt(folder) !== null || liveOwner(folder) === null ? true : null;
  await watchUntil(folder.path, isSettled, AbortSignal.timeout(CREATION_MS));
}

/** A worktree of a large repository takes a while. */
const CREATION_MS = 60_000;
