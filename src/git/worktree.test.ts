import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { isInside } from '../files/files.ts';
import {
  addTree,
  isTaken,
  isValidTree,
  listTrees,
  ownerOfBranch,
  ownerOfTree,
  refPart,
  removeBranch,
  removeTree,
  setTreeOwner,
  treeAt,
} from './worktree.ts';
import { GitError } from './git.ts';

let git: GitFolder;
let path: string;
const branch = 'ralph/it';
beforeEach(() => {
  git = GitFolder.begun();
  path = join(git.folder, 'trees of ours', 'it');
});
afterEach(() => git.close());

const inTree = (...args: string[]) =>
  execFileSync('git', args, { cwd: path, env: git.env, encoding: 'utf8', stdio: 'pipe' });
const make = () => addTree(git.repository(), { path, branch, at: 'HEAD' });

describe('a tree', () => {
  it('creates a worktree on its own branch, finds it by its path, and removes it completely', async () => {
    await make();
    expect(await treeAt(git.repository(), path)).toMatchObject({ path, branch, isUnfinished: false });
    symlinkSync(join(git.folder, 'trees of ours'), join(git.folder, 'link'));
    expect(await treeAt(git.repository(), join(git.folder, 'link', 'it'))).toMatchObject({ path });
    expect(await removeTree(git.repository(), path)).toBe(true);
    expect(await removeBranch(git.repository(), branch)).toBe(true);
    expect(await listTrees(git.repository())).toHaveLength(1);
    expect({ folder: existsSync(join(git.folder, 'trees of ours')), branch: git.git('branch') }).toEqual({
      folder: false,
      branch: '* main\n',
    });
    expect(await removeTree(git.repository(), path)).toBe(false);
    expect(await removeBranch(git.repository(), branch)).toBe(false);
  });

  it('hides a worktree inside of the main tree with one line in info/exclude', async () => {
    const inside = git.path('.architect-ralph-worktree');
    await addTree(git.repository(), { path: inside, branch, at: 'HEAD' });
    expect(git.status).toEqual([]);
    git.git('add', '--all');
    expect(git.status).toEqual([]);
    await removeTree(git.repository(), inside);
    await removeBranch(git.repository(), branch);
    await addTree(git.repository(), { path: inside, branch, at: 'HEAD' });
    const lines = readFileSync(git.path('.git/info/exclude'), 'utf8').split('\n');
    expect(lines.filter((line) => line === '/.architect-ralph-worktree/')).toHaveLength(1);
  });

  it('refuses to create a worktree over another one, with an error that isTaken recognises', async () => {
    await make();
    const trouble = await make().catch((error: unknown) => error);
    expect(trouble).toBeInstanceOf(GitError);
    expect(trouble instanceof GitError && isTaken(trouble)).toBe(true);
    const other = await addTree(git.repository(), {
      path: join(git.folder, 'b'),
      branch: 'b',
      at: 'nowhere',
    }).catch((error: unknown) => error);
    expect(other instanceof GitError && !isTaken(other)).toBe(true);
  });

  it.each([
    ['its folder is gone', () => rmSync(path, { recursive: true })],
    ['it has lost its .git', () => rmSync(join(path, '.git'))],
    [
      'git was killed while creating it',
      () => writeFileSync(git.path('.git/worktrees/it/locked'), 'initializing'),
    ],
  ])('removes a worktree even if %s', async (_, happens) => {
    await make();
    happens();
    expect(await removeTree(git.repository(), path)).toBe(true);
    expect({ trees: await listTrees(git.repository()), folder: existsSync(path) }).toMatchObject({
      trees: [{ branch: 'main' }],
      folder: false,
    });
  });

  it('does not remove a worktree that the user has locked', async () => {
    await make();
    git.git('worktree', 'lock', path);
    await expect(removeTree(git.repository(), path)).rejects.toThrow('locked');
    expect(existsSync(path)).toBe(true);
  });

  it('remembers the owner of a worktree and its branch until they are removed', async () => {
    await make();
    expect(await ownerOfTree(git.repository(), path)).toBeNull();
    const owner = { id: 'it-1', name: 'it', workspace: git.work };
    await setTreeOwner(git.repository(), path, owner);
    expect(await ownerOfTree(git.repository(), path)).toEqual(owner);
    expect(await ownerOfBranch(git.repository(), branch)).toBe('it-1');
    expect(inTree('status', '--porcelain')).toBe('');
    // Even if git finds another repository from its folder.
    rmSync(join(path, '.git'));
    expect(await ownerOfTree(git.repository(), path)).toEqual(owner);
    await removeTree(git.repository(), path);
    await removeBranch(git.repository(), branch);
    await make();
    expect(await ownerOfTree(git.repository(), path)).toBeNull();
    expect(await ownerOfBranch(git.repository(), branch)).toBeNull();
  });

  it('calls a worktree valid only while git finds it from its folder', async () => {
    await make();
    const valid = () => isValidTree(git.repository(), path);
    expect(await valid()).toBe(true);
    rmSync(join(path, '.git'));
    expect(await valid()).toBe(false);
    inTree('init', '--quiet');
    expect(await valid()).toBe(false);
    rmSync(join(path, '.git'), { recursive: true });
    writeFileSync(join(path, '.git'), `gitdir: ${git.path('.git')}\n`);
    expect(await valid()).toBe(false);
    git.git('worktree', 'repair');
    expect(await valid()).toBe(true);
  });
});

describe('names and paths', () => {
  it.each(['a', 'a.b', 'a..b', 'a...b', 'x.lock', 'x.LOCK', 'end.', 'end..', 'a..lock', 'a.lock.'])(
    '%s becomes a valid part of a branch name',
    (name) => {
      expect(() => git.git('check-ref-format', '--branch', `ralph/${refPart(name)}`)).not.toThrow();
    },
  );

  it('refPart keeps a valid name', () => {
    expect(['a', 'A-1_b.c', 'lock'].map(refPart)).toEqual(['a', 'A-1_b.c', 'lock']);
  });

  it('isInside is true only below the folder', () => {
    expect(['/a/b', '/a/..b', '/a', '/ab', '/', '/b/a'].map((one) => isInside('/a', one))).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});
