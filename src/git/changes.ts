/**
 * What a loop has changed: every file below the workspace that differs from the last commit, except those that already
 * differed when the loop started and are untouched since. Those belong to the user and stay as they are.
 *
 * A file that was changed before the loop and again by the loop belongs to the loop as a whole, because the lines cannot
 * be distinguished.
 */
import { differences, GITLINK_MODE, type Difference } from './differences.ts';
import { leftOutOf } from './records.ts';
import { emptyTree, headCommit } from './refs.ts';
import { isRalphs } from './tree.ts';
import { bothOf, GitError, gitOutput, resolveRevision, type Repository } from './git.ts';

/** The loop's changes in a tree, compared with the record of its start. */
export async function changesSince(
  repository: Repository,
  { start, tree, ...heads }: Since,
): Promise<readonly Difference[]> {
  const orEmpty = async (commit: string | null): Promise<string> => commit ?? emptyTree(repository);
  const { head: commit = await headCommit(repository), before = commit } = heads;
  const head = await orEmpty(commit);
  const names = async (from: string, to: string): Promise<ReadonlySet<string>> =>
    new Set((await differences(repository, from, to)).map(({ path }) => path));
  const [different, touched] = await bothOf(
    differences(repository, head, tree),
    names(`${start}^{tree}`, tree),
  ).catch(async (error: unknown) => {
    if ((await resolveRevision(repository, start)) !== null) throw error;
    throw new GitError(`the record of the loop's start is gone: ${start}`);
  });
  const uncommitted = different.filter(({ path }) => !isRalphs(path));
  if (uncommitted.length === 0) return [];
  // A file that was committed after the tree was written is newer than the tree.
  const newer = await names(await orEmpty(before), head);
  // A file that was committed since the start belongs to the loop even if it is now as it was at the start.
  const committed = uncommitted.every(({ path }) => touched.has(path))
    ? NONE
    : await names(await orEmpty(await resolveRevision(repository, `${start}^1`)), head);
  const byLoop = uncommitted.filter(
    (file) => (touched.has(file.path) || committed.has(file.path)) && !newer.has(file.path),
  );
  const unknown = await unknownRepositories(repository, byLoop);
  // What the start left out was there before the loop, even if there is room for it by now.
  const isAnyNew = byLoop.some(({ kind }) => kind === 'new');
  const leftOut = new Set(isAnyNew ? await leftOutOf(repository, start) : []);
  return byLoop.filter(({ path, kind }) => !unknown.has(path) && !(kind === 'new' && leftOut.has(path)));
}

export interface Since {
  /** The record of the loop's start. */
  readonly start: string;
  /** The tree to look for changes in. */
  readonly tree: string;
  /** HEAD, if it was asked for just now; null if there is no commit. */
  readonly head?: string | null;
  /** HEAD when the tree was written, if that was earlier. */
  readonly before?: string | null;
}

const NONE: ReadonlySet<string> = new Set();

/** Nested repositories that are not in the index: without a submodule entry others could not fetch their commits. */
async function unknownRepositories(
  repository: Repository,
  changes: readonly Difference[],
): Promise<ReadonlySet<string>> {
  const nested = changes.filter(({ modes, kind }) => modes[1] === GITLINK_MODE && kind !== 'changed');
  if (nested.length === 0) return new Set();
  const known = await indexedPaths(repository);
  return new Set(nested.filter(({ path }) => !known.has(path)).map(({ path }) => path));
}

async function indexedPaths(repository: Repository): Promise<ReadonlySet<string>> {
  const listed = await gitOutput(repository, ['ls-files', '--cached', '--full-name', '-z', '--', '.']);
  return new Set(listed.split('\0'));
}
