/**
 * Trees of a repository besides the one that a person works in, each on a branch of its own.
 *
 * 1. Whose a tree is stands in its own part of the repository (`.git/worktrees/…/ralph.json`): it goes with the tree,
 *    however that is removed.
 * 2. Nothing is removed here that was not looked into with `workIn` before, except by somebody who says so.
 * 3. Only the tree that is meant is taken off the repository's list: others may lie on a disk that is away.
 */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve as resolvePath } from 'node:path';
import { ask, resolve, tell, type GitError, type Repository, topOf as topBytes } from './repository.ts';

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
  const answer = await tell(repository, ['rev-parse', '--path-format=absolute', '--git-common-dir']);
  return utf8(answer).replace(/\n$/, '');
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
    if (existsSync(path) && !existsSync(join(path, '.git'))) rmSync(path, { recursive: true, force: true });
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

/** What would be lost with a tree and its branch. */
export interface Work {
  /** Files that differ from the last commit, or are new. */
  readonly changes: number;
  /** Commits that no other branch, tag or remote has. */
  readonly commits: number;
  /** Submodules with commits that no remote has: they are kept in the tree's own part of the repository. */
  readonly submodules: readonly string[];
}

/** Looks what is in a tree, where there is one, and on its branch; `repository` is the one in the workspace. */
export async function workIn(repository: Repository, path: string, branch: string): Promise<Work> {
  const tree = await treeAt(repository, path);
  const isThere = tree !== null && existsSync(join(path, '.git'));
  const inTree: Repository = { ...repository, folder: path };
  const tips = [
    ...((await resolve(repository, `refs/heads/${branch}`)) === null ? [] : [`refs/heads/${branch}`]),
    ...(isThere && tree.branch === null && tree.head !== null ? [tree.head] : []),
  ];
  return {
    changes: isThere ? await countChanges(inTree) : 0,
    commits: tips.length === 0 ? 0 : await countOwn(repository, branch, tips),
    submodules: isThere ? await unpublished(inTree) : [],
  };
}

export function isNothing({ changes, commits, submodules }: Work): boolean {
  return changes === 0 && commits === 0 && submodules.length === 0;
}

/** The files of a tree that are not as in its last commit, and the new ones, but for some; not what git ignores. */
export async function countChanges(repository: Repository, except: readonly string[] = []): Promise<number> {
  const status = ['-c', 'core.fsmonitor=false', 'status', '--porcelain', '--no-renames'];
  const all = ['--untracked-files=all', '--ignore-submodules=none', '-z', '--', ':/', ...except];
  // Our look must not get into the way of anybody's own git commands.
  const found = await tell(repository, [...status, ...all], { GIT_OPTIONAL_LOCKS: '0' });
  return found.split('\0').length - 1;
}

async function countOwn(repository: Repository, branch: string, tips: readonly string[]): Promise<number> {
  const others = ['--not', `--exclude=${branch}`, '--branches', '--remotes', '--tags', 'HEAD'];
  return Number(await tell(repository, ['rev-list', '--count', ...tips, ...others]));
}

async function unpublished(repository: Repository): Promise<readonly string[]> {
  if (!existsSync(join(repository.folder, '.gitmodules'))) return [];
  const listed = utf8(await tell(repository, ['submodule', 'status', '--recursive']));
  // Those that nobody has fetched begin with a dash.
  const paths = listed
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('-'))
    .map((line) =>
      line
        .slice(1)
        .replace(/^\S+ /, '')
        .replace(/ \([^()]*\)$/, ''),
    );
  const found = await Promise.all(
    paths.map(async (path) => {
      const inside = { ...repository, folder: join(repository.folder, path) };
      const own = await tell(inside, ['rev-list', '--count', 'HEAD', '--all', '--not', '--remotes']);
      return Number(own) > 0 ? [path] : [];
    }),
  );
  return found.flat();
}

/** Whose a tree is. */
export interface TreeOwner {
  readonly id: string;
  readonly name: string;
  readonly workspace: string;
}

/** Writes down whose a tree is. */
export async function signTree(repository: Repository, path: string, owner: TreeOwner): Promise<void> {
  writeFileSync(await signature({ ...repository, folder: path }), `${JSON.stringify(owner)}\n`);
}

/** Whose the tree at a place is; null where nobody has signed it. */
export async function ownerOfTree(repository: Repository, path: string): Promise<TreeOwner | null> {
  try {
    const file = await signature({ ...repository, folder: path });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `signTree`
    return JSON.parse(readFileSync(file, 'utf8')) as TreeOwner;
  } catch {
    return null;
  }
}

async function signature(inTree: Repository): Promise<string> {
  return join(utf8(await tell(inTree, ['rev-parse', '--absolute-git-dir'])).replace(/\n$/, ''), 'ralph.json');
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
function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(real(parent), relative(parent, resolvePath(path)));
  }
}

/** What git prints, as text. */
function utf8(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8');
}
