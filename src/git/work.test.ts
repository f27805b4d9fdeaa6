import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { hasNoWork, recordSetUpTree, workIn, type SetUpTree } from './work.ts';
import { addTree } from './worktree.ts';

let git: GitFolder;
let path: string;
const branch = 'ralph/it';
beforeEach(() => {
  git = GitFolder.begun();
  path = join(git.folder, 'trees', 'it');
});
afterEach(() => git.close());

const at = (folder: string, ...args: string[]) =>
  execFileSync('git', args, { cwd: folder, env: git.env, encoding: 'utf8', stdio: 'pipe' });
const inTree = (...args: string[]) => at(path, ...args);
const make = () => addTree(git.repository(), { path, branch, at: 'HEAD' });
const work = (setUpTree: SetUpTree | null = null) => workIn(git.repository(), { path, branch }, setUpTree);
const put = (file: string, content = 'x') => writeFileSync(join(path, file), content);

describe('the work in a tree', () => {
  const commit = (file: string): void => {
    writeFileSync(join(path, file), file);
    inTree('add', '.');
    inTree('commit', '--quiet', '--message', file);
  };

  it('finds no work in a new worktree, and without a worktree', async () => {
    expect(hasNoWork(await work())).toBe(true);
    await make();
    expect(hasNoWork(await work())).toBe(true);
    appendFileSync(git.path('.git/info/exclude'), 'ignored\n');
    writeFileSync(join(path, 'ignored'), 'x');
    mkdirSync(join(path, 'empty'));
    expect(hasNoWork(await work())).toBe(true);
  });

  it('counts every changed, new, removed or staged file as work, whatever the settings', async () => {
    await make();
    git.git('config', 'status.showUntrackedFiles', 'no');
    mkdirSync(join(path, 'new'));
    for (const file of ['new/1', 'new/2', 'staged']) writeFileSync(join(path, file), 'x');
    inTree('add', 'staged');
    rmSync(join(path, 'a'));
    expect(await work()).toMatchObject({ changes: 4, commits: 0 });
    mkdirSync(join(path, 'clone'));
    execFileSync('git', ['init', '--quiet'], { cwd: join(path, 'clone'), env: git.env });
    expect(await work()).toMatchObject({ changes: 5 });
  });

  it('counts every commit that no other branch, tag or remote has', async () => {
    await make();
    commit('b');
    commit('c');
    expect(await work()).toMatchObject({ changes: 0, commits: 2 });
    git.git('tag', 'kept', `${branch}~1`);
    expect(await work()).toMatchObject({ commits: 1 });
    git.git('branch', 'other', branch);
    expect(await work()).toMatchObject({ commits: 0 });
    git.git('branch', '-D', 'other');
    git.git('update-ref', 'refs/remotes/origin/it', branch);
    expect(await work()).toMatchObject({ commits: 0 });
    git.git('update-ref', '-d', 'refs/remotes/origin/it');
    // A detached HEAD does not keep a commit.
    git.git('checkout', '--quiet', '--detach', branch);
    expect(await work()).toMatchObject({ commits: 1 });
    git.git('switch', '--quiet', 'main');
    git.git('merge', '--quiet', branch);
    expect(await work()).toMatchObject({ commits: 0 });
  });

  it('counts commits on a detached HEAD, and on a branch whose worktree is gone', async () => {
    await make();
    commit('b');
    inTree('checkout', '--quiet', '--detach');
    commit('c');
    expect(await work()).toMatchObject({ commits: 2 });
    git.git('worktree', 'remove', '--force', path);
    expect(await work()).toMatchObject({ commits: 1 });
  });
});

describe('a folder that is no longer a valid worktree', () => {
  it.each([
    ['has lost its .git', () => {}],
    ['became a separate repository', () => inTree('init', '--quiet')],
    ['points elsewhere', () => put('.git', `gitdir: ${git.path('.git')}\n`)],
    [
      'was replaced by another folder',
      () => {
        rmSync(path, { recursive: true });
        mkdirSync(path);
        put('notes');
      },
    ],
  ])('treats a whole folder as work if it %s', async (_, happens) => {
    await make();
    rmSync(join(path, '.git'));
    happens();
    expect(await work()).toMatchObject({ trouble: 'its .git is missing or points elsewhere' });
    expect(hasNoWork(await work())).toBe(false);
  });

  it('finds no work in an empty folder', async () => {
    await make();
    rmSync(path, { recursive: true });
    expect(hasNoWork(await work())).toBe(true);
    mkdirSync(path);
    expect(hasNoWork(await work())).toBe(true);
    // As after a SIGKILL before git created more of it.
    put('.git', 'gitdir: nowhere\n');
    expect(hasNoWork(await work())).toBe(true);
  });
});

describe('a file that git was told to skip', () => {
  it.each(['--assume-unchanged', '--skip-worktree'])('counts a file that git skips: %s', async (how) => {
    await make();
    inTree('update-index', how, 'a');
    expect(hasNoWork(await work())).toBe(true);
    put('a', '2');
    expect(await work()).toMatchObject({ changes: 1, hidden: ['a'] });
    // The flag is still set.
    expect(inTree('status', '--porcelain')).toBe('');
  });

  it('does not count files that a sparse checkout left out', async () => {
    git.write('d/b', '1');
    git.commits();
    await make();
    inTree('sparse-checkout', 'set', '--no-cone', '/a');
    expect(hasNoWork(await work())).toBe(true);
  });
});

describe('a nested repository', () => {
  const library = (): string => {
    const folder = join(git.folder, 'library');
    mkdirSync(folder);
    at(folder, 'init', '--quiet');
    at(folder, 'commit', '--quiet', '--allow-empty', '--message', 'begin');
    return folder;
  };

  it('counts nested repositories whose commits no remote has, even without an entry in .gitmodules', async () => {
    await make();
    const from = library();
    inTree('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', from, 'known');
    at(path, 'clone', '--quiet', from, 'cloned');
    cpSync(from, join(path, 'own'), { recursive: true });
    inTree('add', '--all');
    inTree('commit', '--quiet', '--message', 'three');
    git.git('merge', '--quiet', branch);
    expect(await work()).toMatchObject({ changes: 0, commits: 0, submodules: ['own'] });
    for (const one of ['known', 'cloned']) {
      at(join(path, one), 'commit', '--quiet', '--allow-empty', '--message', 'more');
      at(join(path, one), 'branch', 'kept');
      at(join(path, one), 'reset', '--quiet', '--hard', 'HEAD~1');
    }
    const { submodules } = await work();
    expect(submodules.toSorted()).toEqual(['cloned', 'known', 'own']);
  });

  it('counts a submodule that is no longer checked out or whose worktree is gone', async () => {
    git.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library(), 'sub');
    git.commits();
    await make();
    inTree('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'update', '--init');
    expect(hasNoWork(await work())).toBe(true);
    at(join(path, 'sub'), 'commit', '--quiet', '--allow-empty', '--message', 'more');
    at(join(path, 'sub'), 'branch', 'kept');
    at(join(path, 'sub'), 'checkout', '--quiet', '--detach', 'HEAD~1');
    inTree('submodule', '--quiet', 'deinit', 'sub');
    expect(await work()).toMatchObject({ changes: 0, submodules: ['sub'] });
    rmSync(path, { recursive: true });
    expect(await work()).toMatchObject({ submodules: ['sub'] });
  });

  it('counts a nested repository that git cannot read', async () => {
    await make();
    cpSync(library(), join(path, 'own'), { recursive: true });
    inTree('add', '--all');
    inTree('commit', '--quiet', '--message', 'one');
    git.git('merge', '--quiet', branch);
    rmSync(join(path, 'own', '.git', 'HEAD'));
    expect(hasNoWork(await work())).toBe(false);
  });
});

describe('a file that a set-up left', () => {
  const setUp = async (): Promise<SetUpTree> => {
    put('a', 'set up');
    mkdirSync(join(path, 'generated'));
    put('generated/1');
    symlinkSync('a', join(path, 'link'));
    return recordSetUpTree({ ...git.repository(), folder: path });
  };

  it('does not count files of a set-up until they are changed', async () => {
    await make();
    const setUpTree = await setUp();
    expect(await work()).toMatchObject({ changes: 3 });
    expect(hasNoWork(await work(setUpTree))).toBe(true);
    put('generated/1', 'mine');
    put('generated/2', 'mine');
    expect(await work(setUpTree)).toMatchObject({ changes: 2 });
    rmSync(join(path, 'generated'), { recursive: true });
    put('a', '1');
    expect(hasNoWork(await work(setUpTree))).toBe(true);
  });

  it('counts a file of a set-up after a commit of that file, but not after other commits', async () => {
    await make();
    const setUpTree = await setUp();
    put('work');
    inTree('add', 'work');
    inTree('commit', '--quiet', '--message', 'work');
    git.git('merge', '--quiet', branch);
    expect(hasNoWork(await work(setUpTree))).toBe(true);
    put('a', 'by the agent');
    inTree('commit', '--quiet', '--message', 'a', '--', 'a');
    put('a', 'set up');
    expect(await work(setUpTree)).toMatchObject({ changes: 1 });
  });

  it('counts files of a set-up that are staged, and all of them if its tree is gone', async () => {
    await make();
    const setUpTree = await setUp();
    inTree('add', 'generated');
    expect(await work(setUpTree)).toMatchObject({ changes: 1 });
    expect(await work({ ...setUpTree, tree: '1'.repeat(40) })).toMatchObject({ changes: 3 });
  });
});

describe('a half-made tree', () => {
  it('finds no work in a half-made worktree whose files are those of its commit', async () => {
    git.write('b', '1');
    git.commits();
    await make();
    // As after a SIGKILL in the middle of the checkout.
    writeFileSync(git.path('.git/worktrees/it/locked'), 'initializing');
    rmSync(git.path('.git/worktrees/it/index'));
    rmSync(join(path, 'b'));
    expect(hasNoWork(await work())).toBe(true);
    appendFileSync(git.path('.git/info/exclude'), 'ignored\n');
    put('ignored');
    put('a', 'mine');
    expect(await work()).toMatchObject({ changes: 2 });
  });
});
