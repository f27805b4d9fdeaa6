/**
 * `ralph stop --tree`: stops a loop and all loops below it.
 *
 * 1. A loop is stopped before its children: from then on it gets no others (`store/child-limits.ts`).
 * 2. A child that is being created is waited for. A loop that has ended is passed over, but not the loops below it.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from '../files/files.ts';
import { watchUntil } from '../process/watch.ts';
import { settledChildren } from '../store/child-limits.ts';
import { standingOf } from '../store/children.ts';
import { loopOf, parentOf } from '../store/enclosing-runs.ts';
import { readLoopOf, type LoopReading } from '../store/read-loop.ts';
import { loopsFolder } from '../store/store.ts';
import { explainError } from './errors.ts';
import { findOwned } from './loops.ts';

/** Stops a loop, then those below it, and returns the highest exit code. */
export async function stopTree(
  loop: LoopReading,
  stop: (loop: LoopReading) => Promise<number>,
): Promise<number> {
  // An error about one loop must not keep the others running.
  const own = await stop(loop).catch(explainError);
  const children = await childrenOf(loop);
  const codes = await Promise.all(
    children.map(async (child) => {
      const { workspace, name } = child.spec;
      const found =
        child.state.outcome === null ? await findOwned(workspace, name).catch(() => child) : child;
      return stopTree(found.spec.id === child.spec.id ? found : child, passOver(stop));
    }),
  );
  return Math.max(own, ...codes);
}

/** Says nothing about a child that has ended before. */
function passOver(stop: (loop: LoopReading) => Promise<number>): (loop: LoopReading) => Promise<number> {
  return async (loop) => (loop.state.outcome === null ? stop(loop) : 0);
}

/** The children of a loop, also those that have ended: they may have active ones. */
async function childrenOf({ folder, spec }: LoopReading): Promise<readonly LoopReading[]> {
  const registered = existsSync(folder.path) ? await settledChildren(folder) : [];
  await Promise.all(registered.map(untilCreated));
  return namesIn(loopsFolder()).flatMap((id) => {
    const child = loopOf({ loop: id });
    const isChild = child !== null && parentOf(child) === spec.id && id !== spec.id;
    return isChild ? (readLoopOf(id) ?? []) : [];
  });
}

/** Waits for the first event of a child that is being created, or for the end of its creator. */
async function untilCreated(id: string): Promise<void> {
  const isSettled = (): true | null => (standingOf(id).is === 'new' ? null : true);
  await watchUntil(join(loopsFolder(), id), isSettled, AbortSignal.timeout(CREATION_MS));
}

/** A worktree of a large repository takes a while. */
const CREATION_MS = 60_000;
