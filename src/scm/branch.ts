import { GitError, type Repository } from '../git/git.ts';
import { branchOf } from '../git/worktree.ts';

/** The branch that is checked out, as a part of an event; null for a detached HEAD, absent if git cannot tell. */
export async function branchFact(repository: Repository): Promise<{ readonly branch?: string | null }> {
  try {
    return { branch: await branchOf(repository) };
  } catch (error) {
    if (error instanceof GitError) return {};
    throw error;
  }
}
