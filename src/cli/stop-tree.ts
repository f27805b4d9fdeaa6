/**
 * `ralph stop --tree`: stops a loop and all loops below it.
 *
 * 1. A loop is stopped before its children: from then on it gets no others (`store/child-limits.ts`).
 * 2. A child that is being created is waited for. A loop that has ended is passed over, but not the loops below it.
 */
import type { LoopReading } from '../store/read-loop.ts';
import { childLoops } from '../views/child-loops.ts';
import { explainError } from './errors.ts';
import { findOwned } from './loops.ts';

/** Stops a loop, then those below it, and returns the highest exit code. */
export async function stopTree(
  loop: LoopReading,
  stop: (loop: LoopReading) => Promise<number>,
): Promise<number> {
  // An error about one loop must not keep the others running.
  const own = await stop(loop).catch(explainError);
  const children = await childLoops(loop);
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
