/**
 * Stops a loop and all loops below it.
 *
 * 1. A loop is stopped before its children: from then on it gets no others (`home/child-limits.ts`).
 * 2. A child that is being created is waited for. A loop that has ended is passed over, but not the loops below it.
 * 3. An error about one loop does not keep the others running.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from '../files/files.ts';
import { watchUntil } from '../process/watch.ts';
import { settledChildren } from '../home/child-limits.ts';
import { statusOfChild } from '../home/children.ts';
import { loopOf, parentOf } from '../home/enclosing-runs.ts';
import { readLoopOf, type LoopReading } from '../home/read-loop.ts';
import { loopsFolder } from '../home/home.ts';
import { UserError } from '../user-error.ts';
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

/** The children of a loop, also those that have ended: they may have active ones. */
async function childLoops({ folder, spec }: LoopReading): Promise<readonly LoopReading[]> {
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
  const isSettled = (): true | null => (statusOfChild(id).is === 'new' ? null : true);
  await watchUntil(join(loopsFolder(), id), isSettled, AbortSignal.timeout(CREATION_MS));
}

/** A worktree of a large repository takes a while. */
const CREATION_MS = 60_000;
