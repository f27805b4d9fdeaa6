import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { takeLock } from '../store/lock.ts';
import type { Repository } from '../git/git.ts';
import { commonFolder } from '../git/worktree.ts';
import { UserError } from '../user-error.ts';
import { thisProcess } from '../store/lock-owner.ts';

/**
 * One at a time takes a place for a tree, frees one, or moves a user's branch: two at once would look at what the other is
 * about to change.
 */
export async function withPlaces<T>(repository: Repository, work: () => Promise<T>): Promise<T> {
  const file = join(await commonFolder(repository), 'ralph-worktrees.lock');
  for (const deadline = performance.now() + PATIENCE_MS; ;) {
    // oxlint-disable-next-line no-await-in-loop -- the kernel wakes nobody who waits for a lock
    const lock = await takeLock(file, thisProcess());
    if (lock.taken) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- it is the last time
        return await work();
      } finally {
        lock.release();
      }
    }
    if (performance.now() > deadline) {
      throw new UserError(
        `process ${lock.owner?.pid ?? '?'} is busy with the worktrees of this repository and does not get done (${file})`,
      );
    }
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(50);
  }
}

const PATIENCE_MS = 120_000;
