import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { isNothing, recordSetUpTree, workIn, type SetUpTree } from './work.ts';
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
const work = (left: SetUpTree | null = null) => workIn(git.repository(), { path, branch }, left);
const put = (file: string, content = 'x') => writeFileSync(join(path, file), content);

describe('the work in a tree', () => {
  const commit = (file: string): void => {
    writeFileSync(join(path, file), file);
    inTree('add', '.');
    inTree('commit', '--quiet', '--message', file);
  };

  it('is nothing in a new one, and in none', async () => {
    expect(isNothing(await work())).toBe(true);
    await make();
    expect(isNothing(await work())).toBe(true);
    appendFileSync(git.path('.git/info/exclude'), 'ignored\n');
    writeFileSync(join(path, 'ignored'), 'x');
    mkdirSync(join(path, 'empty'));
    expect(isNothing(await work())).toBe(true);
  });

  it('is every file that is changed, new, gone or staged, whatever is configured', async () => {
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

  it('is every commit that no other branch, tag or remote has', async () => {
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
    // What is merely checked out is gone with the next switch.
    git.git('checkout', '--quiet', '--detach', branch);
    expect(await work()).toMatchObject({ commits: 1 });
    git.git('switch', '--quiet', 'main');
    git.git('merge', '--quiet', branch);
    expect(await work()).toMatchObject({ commits: 0 });
  });

  it('is also on no branch at all, and on a branch whose tree is gone', async () => {
    await make();
    commit('b');
    inTree('checkout', '--quiet', '--detach');
    commit('c');
    expect(await work()).toMatchObject({ commits: 2 });
    git.git('worktree', 'remove', '--force', path);
    expect(await work()).toMatchObject({ commits: 1 });
  });
});

describe('a folder that is no tree any more', () => {
  it.each([
    ['has lost its .git', () => {}],
    ['is a repository of its own', () => inTree('init', '--quiet')],
    ['leads elsewhere', () => put('.git', `gitdir: ${git.path('.git')}\n`)],
    [
      'is now somebody’s notes',
      () => {
        rmSync(path, { recursive: true });
        mkdirSync(path);
        put('notes');
      },
    ],
  ])('is work as a whole where it %s', async (_, happens) => {
    await make();
    rmSync(join(path, '.git'));
    happens();
    expect(await work()).toMatchObject({ trouble: 'its .git is gone, or leads elsewhere' });
    expect(isNothing(await work())).toBe(false);
  });

  it('is nothing where it is empty', async () => {
    await make();
    rmSync(path, { recursive: true });
    expect(isNothing(await work())).toBe(true);
    mkdirSync(path);
    expect(isNothing(await work())).toBe(true);
    // As after a SIGKILL before git had made more of it.
    put('.git', 'gitdir: nowhere\n');
    expect(isNothing(await work())).toBe(true);
  });
});

describe('what git was told not to look at', () => {
  it.each(['--assume-unchanged', '--skip-worktree'])('is work all the same: %s', async (how) => {
    await make();
    inTree('update-index', how, 'a');
    expect(isNothing(await work())).toBe(true);
    put('a', '2');
    expect(await work()).toMatchObject({ changes: 1, hidden: ['a'] });
    // Nothing of it was touched.
    expect(inTree('status', '--porcelain')).toBe('');
  });

  it('is nothing where a sparse checkout has left it out', async () => {
    git.write('d/b', '1');
    git.commits();
    await make();
    inTree('sparse-checkout', 'set', '--no-cone', '/a');
    expect(isNothing(await work())).toBe(true);
  });
});

describe('repositories in a tree', () => {
  const library = (): string => {
    const folder = join(git.folder, 'library');
    mkdirSync(folder);
    at(folder, 'init', '--quiet');
    at(folder, 'commit', '--quiet', '--allow-empty', '--message', 'begin');
    return folder;
  };

  it('are work where nobody else has their commits, also without a line in .gitmodules', async () => {
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

  it('are work also where they are not checked out any more, or their tree is gone', async () => {
    git.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library(), 'sub');
    git.commits();
    await make();
    inTree('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'update', '--init');
    expect(isNothing(await work())).toBe(true);
    at(join(path, 'sub'), 'commit', '--quiet', '--allow-empty', '--message', 'more');
    at(join(path, 'sub'), 'branch', 'kept');
    at(join(path, 'sub'), 'checkout', '--quiet', '--detach', 'HEAD~1');
    inTree('submodule', '--quiet', 'deinit', 'sub');
    expect(await work()).toMatchObject({ changes: 0, submodules: ['sub'] });
    rmSync(path, { recursive: true });
    expect(await work()).toMatchObject({ submodules: ['sub'] });
  });

  it('are work where nobody can tell what is in them', async () => {
    await make();
    cpSync(library(), join(path, 'own'), { recursive: true });
    inTree('add', '--all');
    inTree('commit', '--quiet', '--message', 'one');
    git.git('merge', '--quiet', branch);
    rmSync(join(path, 'own', '.git', 'HEAD'));
    expect(isNothing(await work())).toBe(false);
  });
});

describe('what a set-up has left', () => {
  const setUp = async (): Promise<SetUpTree> => {
    put('a', 'set up');
    mkdirSync(join(path, 'litter'));
    put('litter/1');
    symlinkSync('a', join(path, 'link'));
    return recordSetUpTree({ ...git.repository(), folder: path });
  };

  it('is no work, until somebody changes it', async () => {
    await make();
    const left = await setUp();
    expect(await work()).toMatchObject({ changes: 3 });
    expect(isNothing(await work(left))).toBe(true);
    put('litter/1', 'mine');
    put('litter/2', 'mine');
    expect(await work(left)).toMatchObject({ changes: 2 });
    rmSync(join(path, 'litter'), { recursive: true });
    put('a', '1');
    expect(isNothing(await work(left))).toBe(true);
  });

  it('is no work beside what was committed since, but work where that was the same file', async () => {
    await make();
    const left = await setUp();
    put('work');
    inTree('add', 'work');
    inTree('commit', '--quiet', '--message', 'work');
    git.git('merge', '--quiet', branch);
    expect(isNothing(await work(left))).toBe(true);
    put('a', 'by the agent');
    inTree('commit', '--quiet', '--message', 'a', '--', 'a');
    put('a', 'set up');
    expect(await work(left)).toMatchObject({ changes: 1 });
  });

  it('is work where it is staged, or where nobody knows any more how it was', async () => {
    await make();
    const left = await setUp();
    inTree('add', 'litter');
    expect(await work(left)).toMatchObject({ changes: 1 });
    expect(await work({ ...left, tree: '1'.repeat(40) })).toMatchObject({ changes: 3 });
  });
});

describe('a tree that nobody has finished to make', () => {
  it('is nothing as far as its files are those of its commit', async () => {
    git.write('b', '1');
    git.commits();
    await make();
    // As after a SIGKILL in the middle of the checkout.
    writeFileSync(git.path('.git/worktrees/it/locked'), 'initializing');
    rmSync(git.path('.git/worktrees/it/index'));
    rmSync(join(path, 'b'));
    expect(isNothing(await work())).toBe(true);
    appendFileSync(git.path('.git/info/exclude'), 'ignored\n');
    put('ignored');
    put('a', 'mine');
    expect(await work()).toMatchObject({ changes: 2 });
  });
});
