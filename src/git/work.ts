/**
 * What would be lost if a worktree and its branch were removed.
 *
 * 1. Every file in the worktree is work unless it is known not to be: unchanged since the last commit, ignored by git, or
 *    left by a set-up. A folder that is no longer a valid worktree is work as a whole.
 * 2. A commit is saved elsewhere only if a branch, a tag or a remote has it. A detached HEAD does not count.
 * 3. Nothing is changed: commands that need another index use a copy.
 */
import { lstatSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { differences, GITLINK_MODE } from './differences.ts';
import { withoutNestedFilters } from './nested-filters.ts';
import { headCommit } from './refs.ts';
import { unpublishedRepositories } from './nested.ts';
import { execGit, GitError, gitFailure, gitOutput, resolveRevision, utf8, type Repository } from './git.ts';
import { copyIndex, writeTree } from './tree.ts';
import { adminFolderOf, isKeptBranch, isValidTree, ownerOfTree, treeAt } from './worktree.ts';

export interface Work {
  /** The number of files that differ from the last commit or are new. */
  readonly changes: number;
  /** Those of them that `git status` does not show (`git update-index --assume-unchanged`). */
  readonly hidden: readonly string[];
  /** The number of commits that no other branch, tag or remote has. */
  readonly commits: number;
  /** Nested repositories with commits that no remote has; removing the worktree deletes them. */
  readonly submodules: readonly string[];
  /** Why the changes in the folder cannot be determined: it is no longer a valid worktree, or git fails; else null. */
  readonly trouble: string | null;
}

/** Inspects a worktree (`path` is null if there is none) and its branch; `repository` is the one in the workspace. */
export async function workIn(
  repository: Repository,
  { path, branch }: { readonly path: string | null; readonly branch: string },
  setUpTree: SetUpTree | null = null,
): Promise<Work> {
  const tree = path === null ? null : await treeAt(repository, path);
  const hasBranch = (await resolveRevision(repository, `refs/heads/${branch}`)) !== null;
  const head = tree === null || tree.head === null || /^0+$/.test(tree.head) ? null : tree.head;
  const tips = [
    ...(hasBranch ? [`refs/heads/${branch}`] : []),
    ...(tree?.branch === null && head !== null ? [head] : []),
  ];
  const commits = tips.length === 0 ? 0 : await countUnmerged(repository, branch, tips);
  const none = { changes: 0, hidden: [], commits, submodules: [], trouble: null };
  if (tree === null || path === null) return none;
  const inTree: Repository = { ...repository, folder: path };
  const adminFolder = await adminFolderOf(repository, path);
  if (!(await isValidTree(repository, path))) {
    const trouble = hasContent(path) ? 'its .git is missing or points elsewhere' : null;
    return { ...none, submodules: await unpublishedRepositories(null, inTree, adminFolder), trouble };
  }
  try {
    const isHalfMade = tree.isUnfinished && (await ownerOfTree(repository, path)) === null;
    const changes = isHalfMade
      ? await filesDifferingFrom(inTree, head)
      : await changedFiles(inTree, { setUpTree });
    const hidden = changes.filter(({ isHidden }) => isHidden).map((change) => utf8(change.path));
    const submodules = await unpublishedRepositories(path, inTree, adminFolder);
    return { ...none, changes: changes.length, hidden, submodules };
  } catch (error) {
    if (error instanceof GitError) return { ...none, trouble: error.message };
    throw error;
  }
}

/** The work that would be lost if a worktree and its branch were removed: commits on a branch that is kept are not. */
export async function lostWith(...args: Parameters<typeof workIn>): Promise<Work> {
  const [repository, { branch }] = args;
  const work = await workIn(...args);
  return (await isKeptBranch(repository, branch)) ? { ...work, commits: 0 } : work;
}

export function hasNoWork({ changes, commits, submodules, trouble }: Work): boolean {
  return changes === 0 && commits === 0 && submodules.length === 0 && trouble === null;
}

/** Whether there is anything at a path except the `.git` file of a worktree. */
function hasContent(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) return found !== undefined;
  return readdirSync(path, { withFileTypes: true }).some((entry) => entry.name !== '.git' || !entry.isFile());
}

async function countUnmerged(
  repository: Repository,
  branch: string,
  tips: readonly string[],
): Promise<number> {
  const others = ['--not', `--exclude=${branch}`, '--branches', '--remotes', '--tags'];
  return Number(await gitOutput(repository, ['rev-list', '--count', ...tips, ...others]));
}

/** The state of a worktree after its set-up, if it was clean before. */
export interface SetUpTree {
  readonly tree: string;
  /** The commit that was checked out. */
  readonly base: string;
}

export async function recordSetUpTree(repository: Repository): Promise<SetUpTree> {
  const tree = await withScratchIndex((index) => writeTree(repository, index));
  return { tree, base: (await headCommit(repository)) ?? '' };
}

/**
 * The files that differ from the last commit, new files included, without ignored files and without files that are still
 * as the set-up left them. `repository.folder` is the top of the tree; `except` has pathspecs.
 */
export async function changedFiles(
  repository: Repository,
  {
    except = [],
    setUpTree = null,
  }: { readonly except?: readonly string[]; readonly setUpTree?: SetUpTree | null } = {},
): Promise<readonly ChangedFile[]> {
  const hidden = new Set(await hiddenFiles(repository));
  const args = ['--untracked-files=all', '--', ':/', ...except];
  const changes =
    hidden.size === 0
      ? await status(repository, args)
      : await withScratchIndex(async (index) => {
          await copyIndexUnhidden(repository, [...hidden], index);
          return status(repository, args, index, hidden);
        });
  const isFromSetUp = await setUpFilter(repository, changes, setUpTree);
  return changes.filter((change) => !isFromSetUp(change));
}

interface ChangedFile {
  /** As in `git status`: `??`, ` M`. */
  readonly code: string;
  /** From the top, in Latin-1. */
  readonly path: string;
  readonly isHidden: boolean;
}

async function status(
  repository: Repository,
  args: readonly string[],
  index: string | null = null,
  hidden: ReadonlySet<string> = new Set(),
): Promise<readonly ChangedFile[]> {
  const options = ['--porcelain', '--no-renames', '--ignore-submodules=none', '-z'];
  // Without locks, so that other git commands do not fail meanwhile.
  const env = { GIT_OPTIONAL_LOCKS: '0', ...(index === null ? {} : { GIT_INDEX_FILE: index }) };
  const guarded = await withoutNestedFilters(repository);
  const found = await gitOutput(guarded, ['status', ...options, ...args], env);
  const lines = found.split('\0').slice(0, -1);
  return lines.map((line) => {
    const path = line.slice(3);
    return { code: line.slice(0, 2), path, isHidden: hidden.has(path) };
  });
}

/** The existing files that `git status` skips (`--assume-unchanged`, `--skip-worktree`). */
async function hiddenFiles(repository: Repository): Promise<readonly string[]> {
  const listed = await gitOutput(repository, ['ls-files', '-v', '-z']);
  const top = Buffer.from(`${repository.folder}/`);
  return listed
    .split('\0')
    .filter((line) => /^[a-zS] /.test(line))
    .map((line) => line.slice(2))
    .filter((path) => exists(Buffer.concat([top, Buffer.from(path, 'latin1')])));
}

function exists(path: Buffer): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Copies the index and clears the flags that hide files from `git status`. */
async function copyIndexUnhidden(
  repository: Repository,
  hidden: readonly string[],
  copy: string,
): Promise<void> {
  await copyIndex(repository, copy);
  const input = Buffer.from(hidden.map((path) => `${path}\0`).join(''), 'latin1');
  for (const flag of ['--no-assume-unchanged', '--no-skip-worktree']) {
    const args = ['-c', 'core.splitIndex=false', 'update-index', flag, '-z', '--stdin'];
    // oxlint-disable-next-line no-await-in-loop -- both write the same file
    const answer = await execGit(repository, args, { GIT_INDEX_FILE: copy }, { input });
    if (answer.code !== 0) throw gitFailure(['update-index'], answer);
  }
}

const selectNothing = (): boolean => false;

/** Selects the changes that are still as the set-up left them. A file that was staged or committed since is work. */
async function setUpFilter(
  repository: Repository,
  changes: readonly ChangedFile[],
  setUpTree: SetUpTree | null,
): Promise<(change: ChangedFile) => boolean> {
  if (setUpTree === null || changes.length === 0) return selectNothing;
  const { tree, base } = setUpTree;
  // No ref protects the tree: git may have garbage-collected it.
  const isKnown = async (revision: string): Promise<boolean> =>
    (await resolveRevision(repository, revision)) !== null;
  if (!(await isKnown(`${tree}^{tree}`)) || !(await isKnown(`${base}^{commit}`))) return selectNothing;
  const now = await withScratchIndex((index) => writeTree(repository, index));
  const bySetUp = new Map((await differences(repository, base, tree)).map((one) => [one.path, one] as const));
  const names = async (from: string, to: string): Promise<ReadonlySet<string>> =>
    new Set((await differences(repository, from, to)).map(({ path }) => path));
  const changedSince = await names(tree, now);
  const committedSince = await names(base, 'HEAD');
  return ({ code, path }) => {
    const made = bySetUp.get(path);
    if (made === undefined || changedSince.has(path) || committedSince.has(path)) return false;
    // The tree has only the commit of a nested repository, not its files.
    if (made.modes.includes(GITLINK_MODE)) return false;
    // A file that could not be read is missing in the tree, as if the set-up had removed it.
    return made.kind === 'gone' ? code === ' D' : code === '??' || code === ' M';
  };
}

/** The files in a half-made worktree that differ from its commit, ignored files included. Its index may be missing. */
function filesDifferingFrom(repository: Repository, head: string | null): Promise<readonly ChangedFile[]> {
  return withScratchIndex(async (index) => {
    const tree = head === null ? ['--empty'] : [head];
    const read = ['-c', 'core.splitIndex=false', 'read-tree', ...tree];
    await gitOutput(repository, read, { GIT_INDEX_FILE: index });
    const found = await status(repository, ['--untracked-files=all', '--ignored', '--', ':/'], index);
    return found.filter(({ code }) => code !== ' D');
  });
}

async function withScratchIndex<T>(use: (index: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-index-'));
  try {
    return await use(join(folder, 'index'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
