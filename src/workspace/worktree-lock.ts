import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { takeLock } from '../home/lock.ts';
import { commonFolder, type Repository } from '../git/git.ts';
import { UserError } from '../user-error.ts';
import { thisProcess } from '../home/lock-owner.ts';

/**
 * Runs `work` with the repository's worktree lock. It protects checking a place and then creating or removing a worktree
 * there, and moving the user's branch.
 */
export async function withWorktreeLock<T>(repository: Repository, work: () => Promise<T>): Promise<T> {
  const file = join(await commonFolder(repository), 'ralph-worktrees.lock');
  for (const deadline = performance.now() + TIMEOUT_MS; ;) {
    // oxlint-disable-next-line no-await-in-loop -- polls, because the lock cannot be waited for
    const lock = await takeLock(file, thisProcess());
    if (lock.taken) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- returns
        return await work();
      } finally {
        lock.release();
      }
    }
    if (performance.now() > deadline) {
      throw new UserError(
        `process ${lock.owner?.pid ?? '?'} has held the worktree lock of this repository for ${TIMEOUT_MS / 1000} s (${file}); try again when it is done`,
      );
    }
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(POLL_MS);
  }
}

const TIMEOUT_MS = 120_000;
const POLL_MS = 50;
