/**
 * Linked worktrees of a repository, each on its own branch. "Tree" is short for worktree here.
 *
 * 1. The owner of a tree is noted in its admin folder (`.git/worktrees/…/ralph.json`), the owner of a branch in the
 *    branch's config section. Git removes each note together with the tree or the branch. A branch that was there before
 *    its tree is noted as kept: it is the user's, and is never removed.
 * 2. Callers inspect a tree with `workIn` (work.ts) before they remove it, unless the user forces the removal.
 * 3. Only the given tree is unregistered, never all missing ones: another may be on a disk that is not mounted.
 */
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve as resolvePath } from 'node:path';
import { below } from '../files/below.ts';
import { foundAt, openRegular, textOf, isInside, realPath, readJsonFile } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { fields, fits, nonBlank } from '../loop/shape.ts';
import { changeConfig } from './change-config.ts';
import { outside } from './links.ts';
import {
  commonFolder,
  execGit,
  GitError,
  gitOutput,
  resolveRevision,
  topOf as topInLatin1,
  utf8,
  type Repository,
} from './git.ts';

export interface LinkedTree {
  readonly path: string;
  /** Null if HEAD is detached. */
  readonly branch: string | null;
  readonly head: string | null;
  /** Git was killed while it created the tree, or before the tree had files. */
  readonly isUnfinished: boolean;
}

/** All trees of the repository, the main one first. */
export async function listTrees(repository: Repository): Promise<readonly LinkedTree[]> {
  const listed = utf8(await gitOutput(repository, ['worktree', 'list', '--porcelain']));
  const empty = (await adminFolders(repository)).filter((folder) => !existsSync(join(folder, 'index')));
  const withoutFiles = new Set(empty.map(treePathIn));
  return listed
    .split('\n\n')
    .filter((block) => block.startsWith('worktree '))
    .map((block) => {
      const value = (key: string): string | null => new RegExp(`^${key} (.*)$`, 'm').exec(block)?.[1] ?? null;
      const path = block.slice('worktree '.length).split('\n', 1)[0] ?? '';
      return {
        path,
        branch: value('branch')?.replace(/^refs\/heads\//, '') ?? null,
        head: value('HEAD'),
        isUnfinished: value('locked') === 'initializing' || withoutFiles.has(realPath(path)),
      };
    });
}

/** The tree at a path; resolves symbolic links. */
export async function treeAt(repository: Repository, path: string): Promise<LinkedTree | null> {
  const place = realPath(path);
  return (await listTrees(repository)).find((tree) => realPath(tree.path) === place) ?? null;
}

/** The top of the tree that contains the folder. */
export async function topOf(repository: Repository): Promise<string> {
  return utf8(await topInLatin1(repository));
}

/** The branch that is checked out; null if HEAD is detached. */
export async function branchOf(repository: Repository): Promise<string | null> {
  const answer = await execGit(repository, ['symbolic-ref', '--quiet', '--short', 'HEAD']);
  return answer.code === 0 ? answer.stdout.toString('utf8').trim() : null;
}

/** Creates a tree: on a new branch or with a detached HEAD at a commit, or on a branch that exists (`at` is null). */
export async function addTree(
  repository: Repository,
  {
    path,
    branch,
    at,
  }: { readonly path: string } & (
    | { readonly branch: string | null; readonly at: string }
    | { readonly branch: string; readonly at: null }
  ),
): Promise<void> {
  const top = await topOf(repository);
  if (isInside(top, path)) await exclude(repository, relative(top, path));
  mkdirSync(dirname(path), { recursive: true });
  const where =
    at === null ? [path, branch] : branch === null ? ['--detach', path, at] : ['-b', branch, path, at];
  const add = ['worktree', 'add', '--no-checkout', ...where];
  await gitOutput(withPlace({ ...repository, folder: top }, dirname(path)), add, { LC_ALL: 'C' });
  // Its files come with filters, so as any other git.
  await gitOutput({ ...repository, folder: path }, ['reset', '--hard', '--quiet']);
}

/** The repository for a git whose view has one more folder to write: that of the trees. */
function withPlace(repository: Repository, folder: string): Repository {
  const { enclose } = repository;
  return enclose === null ? repository : { ...repository, enclose: (at) => enclose(at, folder) };
}

/** Whether creating a tree failed because its path or its branch already exists. */
export function isTaken({ message }: GitError): boolean {
  return /already (?:exists|checked out|used)/.test(message);
}

/** Hides a tree inside another tree from that tree's `git status` and `git add`. */
async function exclude(repository: Repository, name: string): Promise<void> {
  const line = `/${name}/`;
  below(await commonFolder(repository), ['info'], { make: true }, (folder) => {
    const file = openRegular(join(folder, 'exclude'), 'append', 0o666);
    try {
      const before = readFileSync(file, 'utf8');
      if (!before.split('\n').includes(line))
        writeFileSync(file, `${before === '' || before.endsWith('\n') ? '' : '\n'}${line}\n`);
    } finally {
      closeSync(file);
    }
  });
}

/** Removes a tree, its folder and its registration; false if there was none. */
export async function removeTree(repository: Repository, path: string): Promise<boolean> {
  const tree = await treeAt(repository, path);
  if (tree !== null) {
    // Git refuses to remove a folder without a valid `.git`, and the tree would stay registered.
    if (existsSync(path) && !(await isValidTree(repository, path)))
      rmSync(path, { recursive: true, force: true });
    // Forced, because git refuses any tree with submodules; callers have inspected it.
    const force = tree.isUnfinished ? ['--force', '--force'] : ['--force'];
    await gitOutput(await outside(repository), ['worktree', 'remove', ...force, tree.path]);
    removeEmpty(dirname(path));
  }
  return tree !== null;
}

/** Removes the folder of a repository's trees with the last of them. */
function removeEmpty(folder: string): void {
  try {
    if (readdirSync(folder).length === 0) rmdirSync(folder);
  } catch {
    // Another process removed it, or it is not Ralph's to remove.
  }
}

/** Removes a branch, or only the notes on it if it is kept; false if there is none, or still is one. */
export async function removeBranch(repository: Repository, branch: string): Promise<boolean> {
  if (!(await hasBranch(repository, branch))) return false;
  if (await isKeptBranch(repository, branch)) {
    for (const key of [branchKey(branch), keptKey(branch)]) {
      // oxlint-disable-next-line no-await-in-loop -- both change one file; a note that is missing is no error
      await changeConfig(repository, ['--unset-all', key]);
    }
    return false;
  }
  if ((await listTrees(repository)).some((tree) => tree.branch === branch))
    throw new GitError(`the branch ${branch} is checked out in a worktree`);
  // Not with `git branch -D`, which replaces the configuration.
  await gitOutput(repository, ['update-ref', '-d', `refs/heads/${branch}`]);
  await changeConfig(repository, ['--remove-section', `branch.${branch}`]);
  return true;
}

export async function hasBranch(repository: Repository, branch: string): Promise<boolean> {
  return (await resolveRevision(repository, `refs/heads/${branch}`)) !== null;
}

/** Notes that a branch stays when the tree on it is removed. */
export async function keepBranch(repository: Repository, branch: string): Promise<void> {
  await changeConfig(repository, [keptKey(branch), 'true']);
}

export async function isKeptBranch(repository: Repository, branch: string): Promise<boolean> {
  const { code } = await execGit(repository, ['config', '--local', '--get', keptKey(branch)]);
  return code === 0;
}

/** The loop that a tree belongs to. */
export interface TreeOwner {
  readonly id: string;
  readonly name: string;
  readonly workspace: string;
}

/** Notes the owner of a tree and of its branch. */
export async function setTreeOwner(repository: Repository, path: string, owner: TreeOwner): Promise<void> {
  const [adminFolder, tree] = await Promise.all([adminFolderOf(repository, path), treeAt(repository, path)]);
  if (adminFolder === null) throw new GitError(`${path} is not a worktree of ${repository.folder}`);
  below(dirname(dirname(adminFolder)), ['worktrees', basename(adminFolder)], { make: false }, (folder) =>
    replaceFile(join(folder, OWNER_FILE), `${JSON.stringify(owner)}\n`),
  );
  if (tree?.branch !== null && tree?.branch !== undefined)
    await changeConfig(repository, [branchKey(tree.branch), owner.id]);
}

/** The owner of the tree at a path, even if its folder is gone; null if none is noted. */
export async function ownerOfTree(repository: Repository, path: string): Promise<TreeOwner | null> {
  try {
    const file = join((await adminFolderOf(repository, path)) ?? '', OWNER_FILE);
    const value = readJsonFile(file);
    return isTreeOwner(value) ? value : null;
  } catch {
    return null;
  }
}

function isTreeOwner(value: unknown): value is TreeOwner {
  return fits(TREE_OWNER, value);
}

const TREE_OWNER = fields({ id: nonBlank, name: nonBlank, workspace: nonBlank });

/** The id of the loop that a branch belongs to; null if none is noted. */
export async function ownerOfBranch(repository: Repository, branch: string): Promise<string | null> {
  const { code, stdout } = await execGit(repository, ['config', '--local', '--get', branchKey(branch)]);
  return code === 0 ? stdout.toString('utf8').trim() : null;
}

const OWNER_FILE = 'ralph.json';

/** In the branch's section, which git removes with the branch. */
function branchKey(branch: string): string {
  return `branch.${branch}.ralphLoop`;
}

function keptKey(branch: string): string {
  return `branch.${branch}.ralphKept`;
}

/** The tree's admin folder (`.git/worktrees/…`), even if the tree itself is gone; null if there is none. */
export async function adminFolderOf(repository: Repository, path: string): Promise<string | null> {
  const place = realPath(path);
  return (await adminFolders(repository)).find((folder) => treePathIn(folder) === place) ?? null;
}

async function adminFolders(repository: Repository): Promise<readonly string[]> {
  const parent = join(await commonFolder(repository), 'worktrees');
  if (foundAt(parent)?.isDirectory() !== true) return [];
  const entries = readdirSync(parent, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(parent, name));
}

function treePathIn(adminFolder: string): string | null {
  try {
    const link = (textOf(join(adminFolder, 'gitdir')) ?? '').replace(/\n$/, '');
    if (link === '') return null;
    return realPath(dirname(resolvePath(adminFolder, link)));
  } catch {
    return null;
  }
}

/** Whether git, run in the tree's folder, finds that tree: its `.git` may be missing or point elsewhere. */
export async function isValidTree(repository: Repository, path: string): Promise<boolean> {
  const adminFolder = await adminFolderOf(repository, path);
  const link = lstatSync(join(path, '.git'), { throwIfNoEntry: false });
  if (adminFolder === null || link?.isFile() !== true) return false;
  const { code, stdout } = await execGit({ ...repository, folder: path }, [
    'rev-parse',
    '--absolute-git-dir',
  ]);
  return code === 0 && realPath(stdout.toString('utf8').replace(/\n$/, '')) === realPath(adminFolder);
}

/** Replaces what git does not allow in a part of a branch name. */
export function refPart(name: string): string {
  return name
    .replaceAll(/\.{2,}/g, (dots) => '-'.repeat(dots.length))
    .replace(/\.$/, '-')
    .replace(/\.lock$/i, '-lock');
}
