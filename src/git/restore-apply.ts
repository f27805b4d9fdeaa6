/**
 * Makes the changes of a restore on disk, in two passes.
 *
 * A file that the record does not have stays if the record's own `.gitignore` ignores it, because ignored files are not
 * recorded and it may have existed. Git can tell only once that `.gitignore` is restored. So the first pass postpones such
 * removals, and the second pass removes the files that turn out not to be ignored.
 */
import { foldersOf } from './path-kind.ts';
import { execGit, gitFailure, gitOutput, prefixOf, type Repository } from './git.ts';
import { RestoreError } from './git-error.ts';
import { treeWithChangesUndone, type FileChange, type RestorePlan } from './restore-plan.ts';
import { ISOLATED, writeTree } from './tree.ts';

export interface Applied {
  /** The tree that is there now. */
  readonly tree: string;
  /** The files that stay because the record's `.gitignore` ignores them. */
  readonly ignored: readonly FileChange[];
}

/** Applies a plan; `scratch` is the index of the current tree, `before` that tree without ignored files. */
export async function applyRestore(
  repository: Repository,
  { current, target, changes }: RestorePlan,
  { scratch, before }: { readonly scratch: string; readonly before: string },
): Promise<Applied> {
  const postponed = postponedRemovals(changes);
  const half = await treeWithChangesUndone(repository, target, postponed, `${scratch}-target`);
  await checkOut(repository, { from: current, to: half }, { scratch, before });
  const ignored = await ignoredAmong(repository, postponed);
  const tree = await treeWithChangesUndone(repository, target, ignored, `${scratch}-target`);
  if (tree !== half) await checkOut(repository, { from: half, to: tree }, { scratch, before });
  return { tree, ignored };
}

async function checkOut(
  repository: Repository,
  { from, to }: { readonly from: string; readonly to: string },
  { scratch, before }: { readonly scratch: string; readonly before: string },
): Promise<void> {
  // A sparse checkout must not keep restored files off the disk.
  const args = ['read-tree', '-m', '-u', '--no-sparse-checkout', from, to];
  const answer = await execGit(repository, [...ISOLATED, ...args], { GIT_INDEX_FILE: scratch });
  if (answer.code === 0) return;
  const isUntouched = (await writeTree(repository, `${scratch}-after`)) === before;
  throw new RestoreError(gitFailure(args, answer).message, isUntouched);
}

/** The removals to postpone; those that make room for a restored file cannot wait. */
function postponedRemovals(changes: readonly FileChange[]): readonly FileChange[] {
  if (!changes.some(isGitignore)) return [];
  const newFiles = new Set(changes.filter(({ isNew }) => isNew).map(({ path }) => path));
  const newFolders = foldersOf([...newFiles]);
  return changes.filter(
    (change) =>
      change.isGone &&
      !change.isRepository &&
      !isGitignore(change) &&
      !newFolders.has(change.path) &&
      ![...foldersOf([change.path])].some((folder) => newFiles.has(folder)),
  );
}

function isGitignore({ path }: FileChange): boolean {
  return path.split('/').at(-1) === '.gitignore';
}

/** Those that git ignores now and does not track. */
async function ignoredAmong(
  repository: Repository,
  changes: readonly FileChange[],
): Promise<readonly FileChange[]> {
  if (changes.length === 0) return [];
  const prefix = await prefixOf(repository);
  const names = changes.map(({ path }) => path.slice(prefix.length));
  const input = Buffer.from(names.map((name) => `${name}\0`).join(''), 'latin1');
  // Without the index, which may have a folder where a file is now.
  const args = ['check-ignore', '--no-index', '-z', '--stdin'];
  const answer = await execGit(repository, args, {}, { input });
  if (answer.code !== 0 && answer.code !== 1) throw gitFailure(['check-ignore'], answer);
  const ignored = new Set(answer.stdout.toString('latin1').split('\0'));
  const listed = await gitOutput(repository, ['ls-files', '--cached', '-z', '--', '.']);
  const tracked = new Set(listed.split('\0'));
  return changes.filter((_, index) => {
    const name = names[index] ?? '';
    return ignored.has(name) && !tracked.has(name);
  });
}
