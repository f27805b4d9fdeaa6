/**
 * What a loop has changed: every file below the workspace that is not as in the last commit, without those that were like
 * this when the loop began and that nobody has touched since. They are the user's, and stay as they are.
 *
 * A file that was changed before the loop and again in it is the loop's, all of it: nobody can tell the lines apart.
 */
import { lstatSync } from 'node:fs';
import { A_REPOSITORY, differences, type Difference } from './differences.ts';
import { emptyTree, readRecord, writeTree } from './tree.ts';
import { resolve, tell, topOf, type Repository } from './repository.ts';

export type Change = Pick<Difference, 'path' | 'kind'>;

/** The changes since the record of this name was made. */
export async function changesSince(
  repository: Repository,
  ref: string,
  scratch: string,
): Promise<readonly Change[]> {
  const start = await readRecord(repository, ref);
  const now = await writeTree(repository, scratch);
  const head = (await resolve(repository, 'HEAD^{commit}')) ?? (await emptyTree(repository));
  const different = (await differences(repository, head, now)).filter(({ path }) => !isLoopState(path));
  if (different.length === 0) return [];
  const names = async (from: string, to: string): Promise<ReadonlySet<string>> =>
    new Set((await differences(repository, from, to)).map(({ path }) => path));
  const touched = await names(start.tree, now);
  // One that was committed since is the loop's also where it is again as it was at the beginning.
  const committed = await names(start.base, head);
  const isOurs = ({ path }: Change): boolean => touched.has(path) || committed.has(path);
  const places = new Set(
    different.filter((one) => one.kind === 'gone' && isOurs(one)).map(({ path }) => path),
  );
  // Git cannot commit that a file is gone without the folder that has taken its place.
  const isInPlace = ({ path }: Change): boolean =>
    [...foldersOf([path])].some((folder) => places.has(folder));
  const ours = different.filter((one) => isOurs(one) || isInPlace(one));
  const strangers = await strangeRepositories(repository, ours);
  const emptied = await emptyFolders(repository, ours);
  return ours
    .filter(({ path }) => !strangers.has(path) && !emptied.has(path))
    .map(({ path, kind }) => ({ path, kind }));
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

/** A file in whose place there is a folder without anything for git: it has no way to commit only that. */
async function emptyFolders(
  repository: Repository,
  changes: readonly Difference[],
): Promise<ReadonlySet<string>> {
  const gone = changes.filter(({ kind }) => kind === 'gone');
  if (gone.length === 0) return new Set();
  const top = await topOf(repository);
  const filled = foldersOf(changes.filter(({ kind }) => kind !== 'gone').map(({ path }) => path));
  return new Set(
    gone.map(({ path }) => path).filter((path) => !filled.has(path) && isFolder(`${top}/${path}`)),
  );
}

/** All the folders that these files lie in. */
export function foldersOf(paths: readonly string[]): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const path of paths) {
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      const folder = path.slice(0, at);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  }
  return folders;
}

function isFolder(path: string): boolean {
  try {
    return lstatSync(Buffer.from(path, 'latin1')).isDirectory();
  } catch {
    return false;
  }
}

/** The files that are in the index. */
export async function indexed(repository: Repository): Promise<ReadonlySet<string>> {
  const listed = await tell(repository, ['ls-files', '--cached', '--full-name', '-z', '--', '.']);
  return new Set(listed.split('\0'));
}
