/**
 * Moves the checked-out branch forward to a commit, together with the user's files and index.
 *
 * 1. All or nothing: git moves the files before the branch and can fail in between, so a half-done move is undone.
 * 2. The user's merge settings do not apply, because the commit already exists.
 */
import { execGit, gitFailure, gitOutput, resolveRevision, withGitConfig, type Repository } from './git.ts';
import { withoutNestedFilters } from './nested-filters.ts';

/** Returns null on success, otherwise the reason for people. */
export async function moveBranch(
  repository: Repository,
  { branch, from, to }: { readonly branch: string; readonly from: string; readonly to: string },
): Promise<string | null> {
  const before = await indexEntries(repository);
  const guarded = await withoutNestedFilters(repository);
  const env = withGitConfig(guarded.env, { [`branch.${branch}.mergeOptions`]: '' });
  // By default git overwrites ignored files.
  const options = ['--ff-only', '--no-squash', '--commit', '--no-autostash', '--no-overwrite-ignore'];
  const args = ['merge', ...options, '--quiet', to];
  const answer = await execGit({ ...repository, env }, args, { LC_ALL: 'C' }, { as: 'user' });
  const isMoved = (await resolveRevision(repository, `refs/heads/${branch}^{commit}`)) === to;
  if (answer.code === 0 && isMoved) return null;
  const { message } = gitFailure(['merge'], answer);
  if (isMoved) return `moved ${branch} to ${to}, but git reported an error: ${message}`;
  if ((await indexEntries(repository)) !== before) {
    // Undoes the files that differ between the two commits; git refuses if one of them has been changed meanwhile.
    const undo = ['read-tree', '-m', '-u', to, from];
    await execGit(repository, undo);
    if ((await indexEntries(repository)) !== before)
      return `could not move ${branch}: ${message}; files and index have changed: inspect them with: git status, undo the merge with: git ${undo.join(' ')}`;
  }
  const isBlockedByFiles = /would be overwritten|would lose untracked|not uptodate/.test(answer.stderr);
  return `nothing was merged: ${message}${isBlockedByFiles ? '; move those files away first' : ''}`;
}

/** Modes, objects and names, without the cached file times. */
function indexEntries(repository: Repository): Promise<string> {
  return gitOutput(repository, ['ls-files', '--stage', '-z', '--', ':/']);
}
