import { askNamelessOwner, killOwner } from '../home/kill-owner.ts';
import { AlreadyOwned } from '../owner/refusals.ts';
import { wakeDaemon } from '../background/background.ts';
import { dismiss } from '../home/background.ts';
import { deliver } from '../home/deliver.ts';
import { readLoopAt, type LoopReading } from '../home/read-loop.ts';
import { UserError } from '../user-error.ts';
import { closeWindow } from './window.ts';
import { refuseUnreadable } from './find.ts';
import type { Killed } from './loops.ts';
import { endOrphan } from './own-here.ts';
import { driveSilently } from './send.ts';
import { untilRest } from './until-rest.ts';

/** Ends a loop and its agent now: through its owner, or instead of one that does not respond or does not exist. */
export async function killLoop(found: LoopReading): Promise<Killed> {
  const hadEnded = found.state.outcome !== null;
  let killed: number | null = null;
  for (let loop: LoopReading | null = found; loop !== null && loop.state.outcome === null;) {
    refuseUnreadable(loop);
    // oxlint-disable no-await-in-loop -- repeats only if the owner changes meanwhile
    if (loop.owner === null) await endHere(loop);
    else if (!(await endThroughOwner(loop))) {
      await killOwnerOf(loop, loop.owner);
      killed = loop.owner;
    }
    // oxlint-enable no-await-in-loop
    loop = readLoopAt(loop.folder);
  }
  await closeWindow(found.spec);
  return hadEnded ? { is: 'had ended' } : { is: 'killed', owner: killed };
}

/** False if the owner does not respond. */
async function endThroughOwner(loop: LoopReading): Promise<boolean> {
  const delivery = await deliver(loop, STOP);
  if (delivery === 'unanswered') return false;
  const timeout = AbortSignal.timeout(loop.state.policy.timeouts.killGraceMs + REST_MS);
  // A loop that has just ended rejects it.
  await untilRest(loop.folder, timeout);
  return !timeout.aborted;
}

/** More than an owner takes to end an agent and to clean up, on a busy machine. */
const REST_MS = 30_000;

/** Kills an owner that does not respond. Its agents keep running; this process ends that of the loop, and the next daemon takes over the others. */
async function killOwnerOf({ spec, folder }: LoopReading, owner: number): Promise<void> {
  if (spec.agent.argv.length === 0)
    throw new UserError(
      `the program that owns loop ${spec.name} (process ${owner}) does not respond, and its agent is a function of it; end that program`,
      3,
    );
  // The next daemon would take the loop over before this process can.
  dismiss(spec.id);
  await killOwner(folder.lock, owner);
  await wakeDaemon();
}

async function endHere(found: LoopReading): Promise<void> {
  try {
    await endOrphan(found.spec, STOP, driveSilently);
  } catch (error) {
    if (!(error instanceof AlreadyOwned)) throw error;
    await askNamelessOwner(found, STOP);
  }
}

const STOP = { type: 'stop', now: true, by: 'person' } as const;
