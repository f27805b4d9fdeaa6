/**
 * Trees of a repository besides the one that a person works in, each on a branch of its own.
 *
 * 1. Whose a tree is stands in its own part of the repository (`.git/worktrees/…/ralph.json`), and whose its branch is in
 *    that branch's settings: each goes with what it stands for, however that is removed.
 * 2. Nothing is removed here that was not looked into with `workIn` (work.ts) before, except by somebody who says so.
 * 3. Only the tree that is meant is taken off the repository's list: others may lie on a disk that is away.
 */
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve as resolvePath } from 'node:path';
import { ask, GitError, resolve, tell, type Repository, topOf as topBytes, whereIs, utf8 } from './git.ts';

export interface LinkedTree {
  readonly path: string;
  /** Null where none is checked out. */
  readonly branch: string | null;
  readonly head: string | null;
  /** Somebody was killed while they made it. */
  readonly isUnfinished: boolean;
}

/** All trees of the repository: the main one first. */
export async function listTrees(repository: Repository): Promise<readonly LinkedTree[]> {
  const listed = utf8(await tell(repository, ['worktree', 'list', '--porcelain']));
  return listed
    .split('\n\n')
    .filter((block) => block.startsWith('worktree '))
    .map((block) => {
      const value = (key: string): string | null => new RegExp(`^${key} (.*)$`, 'm').exec(block)?.[1] ?? null;
      return {
        path: block.slice('worktree '.length).split('\n', 1)[0] ?? '',
        branch: value('branch')?.replace(/^refs\/heads\//, '') ?? null,
        head: value('HEAD'),
        isUnfinished: value('locked') === 'initializing',
      };
    });
}

/** The tree at a place, however the way there is written. */
export async function treeAt(repository: Repository, path: string): Promise<LinkedTree | null> {
  const place = real(path);
  return (await listTrees(repository)).find((tree) => real(tree.path) === place) ?? null;
}

/** The top of the tree that a folder is in. */
export async function topOf(repository: Repository): Promise<string> {
  return utf8(await topBytes(repository));
}

/** The branch that is checked out; null on none. */
export async function branchOf(repository: Repository): Promise<string | null> {
  const answer = await ask(repository, ['symbolic-ref', '--quiet', '--short', 'HEAD']);
  return answer.code === 0 ? answer.stdout.toString('utf8').trim() : null;
}

/** Makes a tree: on a new branch at what is checked out here, or on none at a commit. */
export async function addTree(
  repository: Repository,
  { path, branch, at }: { readonly path: string; readonly branch: string | null; readonly at: string },
): Promise<void> {
  const top = await topOf(repository);
  if (isInside(top, path)) await exclude(repository, relative(top, path));
  mkdirSync(dirname(path), { recursive: true });
  await tell(
    { ...repository, folder: top },
    ['worktree', 'add', ...(branch === null ? ['--detach'] : ['-b', branch]), path, at],
    { LC_ALL: 'C' },
  );
}

/** Whether a tree could not be made because somebody else has its place or its branch. */
export function isTaken({ message }: GitError): boolean {
  return /already (?:exists|checked out|used)/.test(message);
}

/** The part of the repository that all of its trees share. */
export async function commonFolder(repository: Repository): Promise<string> {
  return utf8(await whereIs(repository, ['--git-common-dir']));
}

/** A tree in a tree must not show as something new there, in no status and no `git add`. */
async function exclude(repository: Repository, name: string): Promise<void> {
  const answer = await tell(repository, [
    'rev-parse',
    '--path-format=absolute',
    '--git-path',
    'info/exclude',
  ]);
  const file = utf8(answer).replace(/\n$/, '');
  const line = `/${name}/`;
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (before.split('\n').includes(line)) return;
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `${before === '' || before.endsWith('\n') ? '' : '\n'}${line}\n`);
}

/** Takes a tree away, its folder and its place on the list; whether there was any. */
export async function removeTree(repository: Repository, path: string): Promise<boolean> {
  const tree = await treeAt(repository, path);
  if (tree !== null) {
    // What has lost its `.git` is no tree to git any more, and would stay on the list.
    if (existsSync(path) && !(await isWhole(repository, path)))
      rmSync(path, { recursive: true, force: true });
    // Forced, since it refuses any tree with submodules; what is in it was looked at.
    const force = tree.isUnfinished ? ['--force', '--force'] : ['--force'];
    await tell(repository, ['worktree', 'remove', ...force, tree.path]);
    removeEmpty(dirname(path));
  }
  return tree !== null;
}

/** The folder that all trees of a repository lie in goes with the last of them. */
function removeEmpty(folder: string): void {
  try {
    if (readdirSync(folder).length === 0) rmdirSync(folder);
  } catch {
    // Somebody was quicker, or it is none of ours.
  }
}

/** Removes a branch; whether there was one. */
export async function removeBranch(repository: Repository, branch: string): Promise<boolean> {
  if ((await resolve(repository, `refs/heads/${branch}`)) === null) return false;
  await tell(repository, ['branch', '-D', '--quiet', branch]);
  return true;
}

/** Whose a tree is. */
export interface TreeOwner {
  readonly id: string;
  readonly name: string;
  readonly workspace: string;
}

/** Writes down whose a tree and its branch are. */
export async function signTree(repository: Repository, path: string, owner: TreeOwner): Promise<void> {
  const [part, tree] = await Promise.all([partOf(repository, path), treeAt(repository, path)]);
  if (part === null) throw new GitError(`${path} is no worktree of ${repository.folder}`);
  writeFileSync(join(part, SIGNATURE), `${JSON.stringify(owner)}\n`);
  if (tree?.branch !== null && tree?.branch !== undefined)
    await tell(repository, ['config', '--local', branchKey(tree.branch), owner.id]);
}

/** Whose the tree at a place is, also where its folder is gone; null where nobody has signed it. */
export async function ownerOfTree(repository: Repository, path: string): Promise<TreeOwner | null> {
  try {
    const file = join((await partOf(repository, path)) ?? '', SIGNATURE);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `signTree`
    return JSON.parse(readFileSync(file, 'utf8')) as TreeOwner;
  } catch {
    return null;
  }
}

/** The id of the loop that a branch was made for; null where it was made for none. */
export async function ownerOfBranch(repository: Repository, branch: string): Promise<string | null> {
  const { code, stdout } = await ask(repository, ['config', '--local', '--get', branchKey(branch)]);
  return code === 0 ? stdout.toString('utf8').trim() : null;
}

const SIGNATURE = 'ralph.json';

/** Git removes it with the branch. */
function branchKey(branch: string): string {
  return `branch.${branch}.ralphLoop`;
}

/** The tree's own part of the repository, also where its folder is gone; null where there is none. */
export async function partOf(repository: Repository, path: string): Promise<string | null> {
  const parts = join(await commonFolder(repository), 'worktrees');
  const place = real(path);
  const names = existsSync(parts) ? readdirSync(parts) : [];
  return names.map((name) => join(parts, name)).find((part) => placeOf(part) === place) ?? null;
}

function placeOf(part: string): string | null {
  try {
    const link = readFileSync(join(part, 'gitdir'), 'utf8').replace(/\n$/, '');
    return real(dirname(resolvePath(part, link)));
  } catch {
    return null;
  }
}

/** Whether git, asked in a tree's folder, speaks of that tree: its `.git` may be gone by now, or lead elsewhere. */
export async function isWhole(repository: Repository, path: string): Promise<boolean> {
  const part = await partOf(repository, path);
  const link = lstatSync(join(path, '.git'), { throwIfNoEntry: false });
  if (part === null || link?.isFile() !== true) return false;
  const { code, stdout } = await ask({ ...repository, folder: path }, ['rev-parse', '--absolute-git-dir']);
  return code === 0 && real(stdout.toString('utf8').replace(/\n$/, '')) === real(part);
}

/** Whether a path leads into a folder. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '' && way !== '..' && !way.startsWith('../');
}

/** A name as a part of a branch's name: git does not take them all. */
export function refPart(name: string): string {
  return name
    .replaceAll(/\.{2,}/g, (dots) => '-'.repeat(dots.length))
    .replace(/\.$/, '-')
    .replace(/\.lock$/i, '-lock');
}

/** The real path of what may not be there. */
export function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(real(parent), relative(parent, resolvePath(path)));
  }
}
