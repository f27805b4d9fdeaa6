import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from '../files/files.ts';
import { watchUntil } from '../process/watch.ts';
import { settledChildren } from '../store/child-limits.ts';
import { standingOf } from '../store/children.ts';
import { loopOf, parentOf } from '../store/enclosing-runs.ts';
import { readLoopOf, type LoopReading } from '../store/read-loop.ts';
import { loopsFolder } from '../store/store.ts';

/** The children of a loop, also those that have ended: they may have active ones. */
export async function childLoops({ folder, spec }: LoopReading): Promise<readonly LoopReading[]> {
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
