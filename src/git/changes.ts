/**
 * What a loop has changed: every file below the workspace that is not as in the last commit, without those that were like
 * this when the loop began and that nobody has touched since. They are the user's, and stay as they are.
 *
 * A file that was changed before the loop and again in it is the loop's, all of it: nobody can tell the lines apart.
 */
import { A_REPOSITORY, differences, type Difference } from './differences.ts';
import { emptyTree, readRecord } from './tree.ts';
import { resolve, tell, type Repository } from './git.ts';

/** The changes in a tree since the record of this name was made. */
export async function changesSince(
  repository: Repository,
  { start: ref, tree, head: known }: Since,
): Promise<readonly Difference[]> {
  const start = await readRecord(repository, ref);
  const nothing = await emptyTree(repository);
  const head = (await resolve(repository, 'HEAD^{commit}')) ?? nothing;
  const different = (await differences(repository, head, tree)).filter(({ path }) => !isLoopState(path));
  if (different.length === 0) return [];
  const names = async (from: string, to: string): Promise<ReadonlySet<string>> =>
    new Set((await differences(repository, from, to)).map(({ path }) => path));
  const touched = await names(start.tree, tree);
  // One that was committed since is the loop's also where it is again as it was at the beginning.
  const committed = await names(start.base, head);
  // What somebody has committed after the tree was written is newer than the tree.
  const newer = known === undefined ? new Set<string>() : await names(known ?? nothing, head);
  const isOurs = ({ path }: Difference): boolean =>
    (touched.has(path) || committed.has(path)) && !newer.has(path);
  const ours = different.filter(isOurs);
  const strangers = await strangeRepositories(repository, ours);
  return ours.filter(({ path }) => !strangers.has(path));
}

export interface Since {
  /** The record. */
  readonly start: string;
  /** What was there. */
  readonly tree: string;
  /** What was checked out when the tree was written, where that is some time ago; null for nothing. */
  readonly head?: string | null;
}

/** Whatever a repository has of it. */
function isLoopState(path: string): boolean {
  return path.split('/').includes('.ralph');
}

/** A repository in the repository is committed only where it is known as a submodule: nobody else could fetch it. */
async function strangeRepositories(
  repository: Repository,
  changes: readonly Difference[],
): Promise<ReadonlySet<string>> {
  const nested = changes.filter(({ modes, kind }) => modes[1] === A_REPOSITORY && kind !== 'changed');
  if (nested.length === 0) return new Set();
  const known = await indexed(repository);
  return new Set(nested.filter(({ path }) => !known.has(path)).map(({ path }) => path));
}

/** The files that are in the index. */
async function indexed(repository: Repository): Promise<ReadonlySet<string>> {
  const listed = await tell(repository, ['ls-files', '--cached', '--full-name', '-z', '--', '.']);
  return new Set(listed.split('\0'));
}
