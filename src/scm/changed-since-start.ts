import { gitOutput } from '../git/git.ts';
import { GitError } from '../git/git-error.ts';
import type { LoopReading } from '../store/read-loop.ts';
import { UserError } from '../user-error.ts';
import { recordsOf } from './loop-records.ts';

/** How many files differ between the start of a loop and its last checkpoint; null if there is nothing to compare. */
export async function changedSinceStart(loop: LoopReading): Promise<number | null> {
  try {
    const { repository, records } = await recordsOf(loop);
    const start = records.get('start');
    const last = [...records].findLast(([name]) => /^\d+$/.test(name))?.[1];
    if (start === undefined || last === undefined) return null;
    const options = ['-r', '-z', '--no-renames', '--name-only', '--ignore-submodules=all'];
    const listed = await gitOutput(repository, ['diff-tree', ...options, start, last, '--', '.']);
    return listed.split('\0').length - 1;
  } catch (error) {
    if (error instanceof UserError || error instanceof GitError) return null;
    throw error;
  }
}
