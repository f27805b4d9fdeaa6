/**
 * What would be lost with a tree and its branch.
 *
 * 1. Whatever is in a tree's folder is work unless it is known not to be: as in the last commit, ignored by git, or left
 *    there by a set-up. A folder that git cannot speak for any more is work as a whole.
 * 2. Only what has a name elsewhere is elsewhere: a branch, a tag or a remote. What is merely checked out has none.
 * 3. Nothing is touched: what needs another index has a copy of it.
 */
import { lstatSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { A_REPOSITORY, differences } from './differences.ts';
import { unpublished } from './nested.ts';
import { ask, failed, GitError, resolve, tell, utf8, type Repository } from './git.ts';
import { copyOfIndex, writeTree } from './tree.ts';
import { isWhole, ownerOfTree, partOf, treeAt } from './worktree.ts';

export interface Work {
  /** Files that differ from the last commit, or are new. */
  readonly changes: number;
  /** Those of them that `git status` does not show, since git was told not to look (`git update-index`). */
  readonly hidden: readonly string[];
  /** Commits that no other branch, tag or remote has. */
  readonly commits: number;
  /** Repositories in the tree with commits that no remote has: all that there is of them goes with the tree. */
  readonly submodules: readonly string[];
  /** Why nobody can tell what in the folder is new: it is no tree any more, or git cannot read it; null where one can. */
  readonly trouble: string | null;
}

/** Looks what is in a tree, where there is one, and on its branch; `repository` is the one in the workspace. */
export async function workIn(
  repository: Repository,
  { path, branch }: { readonly path: string | null; readonly branch: string },
  left: SetUpTree | null = null,
): Promise<Work> {
  const tree = path === null ? null : await treeAt(repository, path);
  const hasBranch = (await resolve(repository, `refs/heads/${branch}`)) !== null;
  const head = tree === null || tree.head === null || /^0+$/.test(tree.head) ? null : tree.head;
  const tips = [
    ...(hasBranch ? [`refs/heads/${branch}`] : []),
    ...(tree?.branch === null && head !== null ? [head] : []),
  ];
  const commits = tips.length === 0 ? 0 : await countOwn(repository, branch, tips);
  const none = { changes: 0, hidden: [], commits, submodules: [], trouble: null };
  if (tree === null || path === null) return none;
  const inTree: Repository = { ...repository, folder: path };
  const part = await partOf(repository, path);
  if (!(await isWhole(repository, path))) {
    const trouble = isFilled(path) ? 'its .git is gone, or leads elsewhere' : null;
    return { ...none, submodules: await unpublished(null, inTree, part), trouble };
  }
  try {
    const isHalf = tree.isUnfinished && (await ownerOfTree(repository, path)) === null;
    const changes = isHalf ? await strangeFiles(inTree, head) : await changedFiles(inTree, { left });
    const hidden = changes.filter(({ isHidden }) => isHidden).map((change) => utf8(change.path));
    return { ...none, changes: changes.length, hidden, submodules: await unpublished(path, inTree, part) };
  } catch (error) {
    if (error instanceof GitError) return { ...none, trouble: error.message };
    throw error;
  }
}

export function isNothing({ changes, commits, submodules, trouble }: Work): boolean {
  return changes === 0 && commits === 0 && submodules.length === 0 && trouble === null;
}

/** Whether there is anything at a place but a link to a repository. */
function isFilled(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) return found !== undefined;
  return readdirSync(path, { withFileTypes: true }).some((one) => one.name !== '.git' || !one.isFile());
}

async function countOwn(repository: Repository, branch: string, tips: readonly string[]): Promise<number> {
  const others = ['--not', `--exclude=${branch}`, '--branches', '--remotes', '--tags'];
  return Number(await tell(repository, ['rev-list', '--count', ...tips, ...others]));
}

/** How a set-up has left a tree that was clean before it. */
export interface SetUpTree {
  readonly tree: string;
  /** The commit that was checked out. */
  readonly base: string;
}

/** Puts down how everything in a tree is now. */
export async function recordSetUpTree(repository: Repository): Promise<SetUpTree> {
  const tree = await withScratch((index) => writeTree(repository, index));
  return { tree, base: (await resolve(repository, 'HEAD^{commit}')) ?? '' };
}

/**
 * The files of a tree that are not as in its last commit, and the new ones, but for some, and for those that are as a
 * set-up has left them; not what git ignores. The repository's folder is its top.
 */
export async function changedFiles(
  repository: Repository,
  {
    except = [],
    left = null,
  }: { readonly except?: readonly string[]; readonly left?: SetUpTree | null } = {},
): Promise<readonly Changed[]> {
  const hidden = new Set(await hiddenFiles(repository));
  const args = ['--untracked-files=all', '--', ':/', ...except];
  const changes =
    hidden.size === 0
      ? await status(repository, args)
      : await withScratch(async (index) => {
          await uncover(repository, [...hidden], index);
          return status(repository, args, index, hidden);
        });
  const isLitter = await litter(repository, changes, left);
  return changes.filter((change) => !isLitter(change));
}

interface Changed {
  /** As `git status` has it: `??`, ` M`. */
  readonly code: string;
  /** From the top, in Latin 1. */
  readonly path: string;
  readonly isHidden: boolean;
}

async function status(
  repository: Repository,
  args: readonly string[],
  index: string | null = null,
  hidden: ReadonlySet<string> = new Set(),
): Promise<readonly Changed[]> {
  const how = ['status', '--porcelain', '--no-renames', '--ignore-submodules=none', '-z'];
  // Our look must not get into the way of anybody's own git commands.
  const env = { GIT_OPTIONAL_LOCKS: '0', ...(index === null ? {} : { GIT_INDEX_FILE: index }) };
  const found = await tell(repository, ['-c', 'core.fsmonitor=false', ...how, ...args], env);
  const lines = found.split('\0').slice(0, -1);
  return lines.map((line) => {
    const path = line.slice(3);
    return { code: line.slice(0, 2), path, isHidden: hidden.has(path) };
  });
}

/** The files that git was told not to look at (`--assume-unchanged`, `--skip-worktree`) and that are there. */
async function hiddenFiles({ folder, ...rest }: Repository): Promise<readonly string[]> {
  const listed = await tell({ folder, ...rest }, ['ls-files', '-v', '-z']);
  return listed
    .split('\0')
    .filter((line) => /^[a-zS] /.test(line))
    .map((line) => line.slice(2))
    .filter((path) => isThere(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(path, 'latin1')])));
}

function isThere(path: Buffer): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** A copy of the index in which nothing is hidden. */
async function uncover(repository: Repository, hidden: readonly string[], copy: string): Promise<void> {
  await copyOfIndex(repository, copy);
  const input = Buffer.from(hidden.map((path) => `${path}\0`).join(''), 'latin1');
  for (const how of ['--no-assume-unchanged', '--no-skip-worktree']) {
    const args = ['-c', 'core.splitIndex=false', 'update-index', how, '-z', '--stdin'];
    // oxlint-disable-next-line no-await-in-loop -- both write the same file
    const answer = await ask(repository, args, { GIT_INDEX_FILE: copy }, { input });
    if (answer.code !== 0) throw failed(['update-index'], answer);
  }
}

const nothing = (): boolean => false;

/** Tells what is still as a set-up has left it. What is staged, or committed since, was in somebody's hands. */
async function litter(
  repository: Repository,
  changes: readonly Changed[],
  left: SetUpTree | null,
): Promise<(change: Changed) => boolean> {
  if (left === null || changes.length === 0) return nothing;
  // Nothing holds on to it: after some weeks git may have thrown it away.
  const isKnown = async (what: string): Promise<boolean> => (await resolve(repository, what)) !== null;
  if (!(await isKnown(`${left.tree}^{tree}`)) || !(await isKnown(`${left.base}^{commit}`))) return nothing;
  const now = await withScratch((index) => writeTree(repository, index));
  const bySetUp = new Map(
    (await differences(repository, left.base, left.tree)).map((one) => [one.path, one] as const),
  );
  const names = async (from: string, to: string): Promise<ReadonlySet<string>> =>
    new Set((await differences(repository, from, to)).map(({ path }) => path));
  const since = await names(left.tree, now);
  const committed = await names(left.base, 'HEAD');
  return ({ code, path }) => {
    const made = bySetUp.get(path);
    if (made === undefined || since.has(path) || committed.has(path)) return false;
    // What is in a repository is not on record with it.
    if (made.modes.includes(A_REPOSITORY)) return false;
    // A file that could not be recorded looks as if it were gone.
    return made.kind === 'gone' ? code === ' D' : code === '??' || code === ' M';
  };
}

/** The files in a tree that nobody has finished to make that are not as in its commit, whatever git knows of them. */
function strangeFiles(repository: Repository, head: string | null): Promise<readonly Changed[]> {
  return withScratch(async (index) => {
    const read = head === null ? ['--empty'] : [head];
    await tell(repository, ['-c', 'core.splitIndex=false', 'read-tree', ...read], { GIT_INDEX_FILE: index });
    const found = await status(repository, ['--untracked-files=all', '--ignored', '--', ':/'], index);
    return found.filter(({ code }) => code !== ' D');
  });
}

async function withScratch<T>(use: (index: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-index-'));
  try {
    return await use(join(folder, 'index'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
