import { GitError, type Repository } from '../git/git.ts';
import { checkedOutBranch } from '../git/read-ref.ts';
import { branchOf } from '../git/worktree.ts';

/** The branch that is checked out, as a part of an event; null for a detached HEAD, absent if git cannot tell. */
export async function branchFact(repository: Repository): Promise<{ readonly branch?: string | null }> {
  try {
    const branch = await checkedOutBranch(repository);
    return { branch: branch === undefined ? await branchOf(repository) : branch };
  } catch (error) {
    if (error instanceof GitError) return {};
    throw error;
  }
}
