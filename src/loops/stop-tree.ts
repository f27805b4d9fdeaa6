/**
 * Stops a loop and all loops below it.
 *
 * 1. A loop is stopped before its children: from then on it gets no others (`store/child-limits.ts`).
 * 2. A child that is being created is waited for. A loop that has ended is passed over, but not the loops below it.
 * 3. An error about one loop does not keep the others running.
 */
import type { LoopReading } from '../store/read-loop.ts';
import { UserError } from '../user-error.ts';
import { childLoops } from './child-loops.ts';
import { ownedLoopAt, refOf } from './find.ts';
import type { Problem, Sent, StoppedOne } from './loops.ts';

/** Stops a loop, then those below it. The first of the results is that of the loop itself. */
export async function stopTree(
  loop: LoopReading,
  stop: (loop: LoopReading) => Promise<Sent>,
): Promise<readonly StoppedOne[]> {
  const own = { loop: refOf(loop), sent: await stop(loop).catch(problem) };
  const children = await childLoops(loop);
  const below = await Promise.all(
    children.map(async (child) => {
      const found = child.state.outcome === null ? await ownedLoopAt(refOf(child)).catch(() => child) : child;
      const stopped = await stopTree(found, stop);
      // Nothing is said about a child that had ended before.
      return found.state.outcome === null ? stopped : stopped.slice(1);
    }),
  );
  return [own, ...below.flat()];
}

function problem(error: unknown): Problem {
  if (!(error instanceof UserError)) throw error;
  return { is: 'problem', message: error.message, exitCode: error.exitCode };
}
