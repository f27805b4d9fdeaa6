/**
 * The branch that is checked out goes forward to a commit, with the files and the index of its user.
 *
 * 1. It is there, or everything is as it was: git moves the files before the branch, and may fail in between.
 * 2. What the user has set for merges of their own is for those: here the commit is made already.
 */
import { ask, configured, failed, resolve, tell, type Repository } from './git.ts';

/** Moves it; null when it is there, else why not, for people. */
export async function moveBranch(
  repository: Repository,
  { branch, from, to }: { readonly branch: string; readonly from: string; readonly to: string },
): Promise<string | null> {
  const before = await staged(repository);
  const env = configured(repository.env, { [`branch.${branch}.mergeOptions`]: '' });
  // To git an ignored file is not worth keeping; to us it is.
  const how = ['--ff-only', '--no-squash', '--commit', '--no-autostash', '--no-overwrite-ignore', '--quiet'];
  const answer = await ask({ ...repository, env }, ['merge', ...how, to], { LC_ALL: 'C' });
  const isThere = (await resolve(repository, `refs/heads/${branch}^{commit}`)) === to;
  if (answer.code === 0 && isThere) return null;
  const { message } = failed(['merge'], answer);
  if (isThere) return `${branch} was moved to ${to}, but not everything went well: ${message}`;
  if ((await staged(repository)) !== before) {
    // The way back, for the files between the two commits only; git refuses if anybody has touched them meanwhile.
    const back = ['read-tree', '-m', '-u', to, from];
    await ask(repository, back);
    if ((await staged(repository)) !== before)
      return `${branch} was not moved: ${message}; files and index have changed, look at them with: git status, take the merge back with: git ${back.join(' ')}`;
  }
  const isInTheWay = /would be overwritten|would lose untracked|not uptodate/.test(answer.stderr);
  return `nothing was merged: ${message}${isInTheWay ? '; put those files away first' : ''}`;
}

/** What the index has, without what it knows of the files. */
function staged(repository: Repository): Promise<string> {
  return tell(repository, ['ls-files', '--stage', '-z', '--', ':/']);
}
