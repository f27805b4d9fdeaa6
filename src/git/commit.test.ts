import { chmodSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { changesSince } from './changes.ts';
import type { Difference } from './differences.ts';
import {
  findAttemptedCommit,
  movedHead,
  prepareCommit,
  finishCommit,
  cancelCommit,
  wasAttempted,
} from './commit.ts';
import { readCommit } from './made-commit.ts';
import { problemWith } from './state.ts';
import { recordTree } from './refs.ts';
import { writeTree } from './tree.ts';

const START = 'refs/ralph/it/start';
let at: GitFolder;
let notes: string;
beforeEach(() => {
  at = new GitFolder();
  notes = join(at.folder, 'notes');
  mkdirSync(notes);
});
afterEach(() => at.close());

const recordStart = async (folder?: string) => {
  const repository = at.repository(folder);
  const tree = await writeTree(repository, at.scratch);
  return recordTree(repository, { ref: START, tree, message: 'start' });
};
const found = async (folder?: string) => {
  const tree = await writeTree(at.repository(folder), at.scratch);
  return changesSince(at.repository(folder), { start: START, tree });
};
const changes = async (folder?: string) => {
  const list = await found(folder);
  return list.map(({ path, kind }) => `${kind} ${path}`).toSorted();
};
/** Returns a function that makes the commit. */
const prepares = async (message: string, folder?: string, list?: readonly Difference[]) => {
  const where = at.repository(folder);
  const { args, env } = await prepareCommit(where, list ?? (await found(folder)), { folder: notes, message });
  return () => {
    at.gitWith(env, ...(folder === undefined ? [] : ['-C', folder]), ...args);
    return at.git('rev-parse', 'HEAD').trim();
  };
};
const commits = async (message = 'work', folder?: string, list?: readonly Difference[]) => {
  const make = await prepares(message, folder, list);
  await finishCommit(at.repository(folder), notes, await readCommit(at.repository(folder), make()));
};
/** The files that the last commit changed. */
const committed = () =>
  at.git('show', '--format=', '--name-status', '--no-renames', '-z', 'HEAD').split('\0').slice(0, -1);

describe('changesSince and prepareCommit', () => {
  it('commit new, changed, removed and renamed files', async () => {
    for (const name of ['changed', 'removed', 'moved', 'same']) at.write(name, name);
    at.commits();
    await recordStart();
    expect(await changes()).toEqual([]);
    at.write('changed', '2');
    at.remove('removed');
    at.git('mv', 'moved', 'elsewhere');
    at.write('deep/new', '1');
    expect(await changes()).toEqual([
      'changed changed',
      'gone moved',
      'gone removed',
      'new deep/new',
      'new elsewhere',
    ]);
    await commits();
    expect(at.status).toEqual([]);
    expect(committed()).toEqual([
      'M',
      'changed',
      'A',
      'deep/new',
      'A',
      'elsewhere',
      'D',
      'moved',
      'D',
      'removed',
    ]);
    expect(await changes()).toEqual([]);
  });

  it('leave files that only the user changed as they are, staged or not', async () => {
    for (const name of ['staged', 'half', 'dirty', 'dropped', 'unstaged', 'work']) at.write(name, '1');
    at.commits();
    at.write('staged', '2');
    at.write('half', '2');
    at.write('added', '2');
    at.git('add', 'staged', 'half', 'added');
    at.write('half', '3');
    at.write('dirty', '2');
    at.write('untracked', '2');
    at.git('rm', '--quiet', 'dropped');
    at.remove('unstaged');
    const before = at.status;
    await recordStart();
    expect(await changes()).toEqual([]);
    at.write('work', '2');
    at.write('new', '1');
    await commits();
    expect(committed()).toEqual(['A', 'new', 'M', 'work']);
    expect(at.status).toEqual(before);
    expect(at.git('show', ':half')).toBe('2');
  });

  it('commit the whole file if the user changed or staged it before the loop did', async () => {
    at.write('a', '1\n');
    at.commits();
    at.write('a', '1\nuser\n');
    at.write('b', 'user\n');
    at.git('add', 'b');
    await recordStart();
    at.write('a', '1\nuser\nloop\n');
    at.write('b', 'user\nloop\n');
    await commits();
    expect(committed()).toEqual(['M', 'a', 'A', 'b']);
    expect(at.git('show', 'HEAD:a', 'HEAD:b')).toBe('1\nuser\nloop\nuser\nloop\n');
    expect(at.status).toEqual([]);
  });

  it('commit a file that the loop changed back to its state at the start', async () => {
    at.write('a', '1');
    at.commits();
    await recordStart();
    at.write('a', '2');
    at.write('b', '2');
    await commits();
    at.write('a', '1');
    at.remove('b');
    expect(await changes()).toEqual(['changed a', 'gone b']);
    await commits();
    expect(at.status).toEqual([]);
  });

  it('skip files that the agent has committed itself', async () => {
    at.commits();
    await recordStart();
    at.write('a', '1');
    at.commits('by the agent');
    expect(await changes()).toEqual([]);
    at.write('b', '1');
    expect(await changes()).toEqual(['new b']);
  });

  it('work before the first commit, with files of any name and kind', async () => {
    at.write('mine', '1');
    await recordStart();
    const names = ['-dash', 'a "quote"', 'b\nline', 'c blank', 'd*?[x]', ':(top)e', 'ü'];
    for (const name of names) at.write(name, name);
    at.write('dx', 'not of the pattern');
    symlinkSync('nowhere', at.path('link'));
    at.write('run', '#!/bin/sh\n');
    chmodSync(at.path('run'), 0o755);
    at.write('binary', '\u0000\u0001');
    await commits('--amend $(touch x) "y" \'z\'');
    expect(at.files('HEAD').toSorted()).toEqual([...names, 'dx', 'link', 'run', 'binary'].toSorted());
    expect(at.status).toEqual(['?? mine']);
    expect(at.git('log', '-1', '--format=%B')).toBe('--amend $(touch x) "y" \'z\'\n\n');
    expect(at.git('ls-tree', 'HEAD', 'link', 'run')).toMatch(/^120000 .*link\n100755 .*run\n$/);
  });

  it('keep a message that looks like a comment', async () => {
    at.git('config', 'commit.cleanup', 'strip');
    await recordStart();
    at.write('a', '1');
    await commits('# 7: fix it');
    expect(at.git('log', '-1', '--format=%s')).toBe('# 7: fix it\n');
  });

  it('commit a folder that replaces a file, and a file that replaces a folder', async () => {
    for (const name of ['a', 'd/x', 'e/x', 'l/x', 'gone']) at.write(name, '1');
    at.commits();
    await recordStart();
    for (const name of ['a', 'd', 'l', 'gone']) at.remove(name);
    at.write('a/b', '2');
    at.write('d', '2');
    symlinkSync('e', at.path('l'));
    mkdirSync(at.path('gone'));
    expect(await changes()).toEqual([
      'gone a',
      'gone d/x',
      'gone gone',
      'gone l/x',
      'new a/b',
      'new d',
      'new l',
    ]);
    await commits();
    expect(at.files('HEAD')).toEqual(['a/b', 'd', 'e/x', 'l']);
    expect(at.status).toEqual([]);
  });

  it('commit only files below the workspace in a larger repository', async () => {
    at.write('sub/a', '1');
    at.write('other', '1');
    at.commits();
    await recordStart('sub');
    at.write('sub/a', '2');
    at.write('sub/b', '2');
    at.write('other', '2');
    at.write('new', '2');
    at.write('sub/.ralph/x', '2');
    expect(await changes('sub')).toEqual(['changed sub/a', 'new sub/b']);
    await commits('work', 'sub');
    expect(at.status).toEqual([' M other', '?? new', '?? sub/.ralph/x']);
  });

  it('skip a nested repository unless it is in the index', async () => {
    at.commits();
    await recordStart();
    at.git('init', '--quiet', 'nested');
    at.git('-C', 'nested', 'commit', '--quiet', '--allow-empty', '--message', 'x');
    expect(await changes()).toEqual([]);
    at.git('-c', 'advice.addEmbeddedRepo=false', 'add', 'nested');
    expect(await changes()).toEqual(['new nested']);
    await commits();
    at.git('-C', 'nested', 'commit', '--quiet', '--allow-empty', '--message', 'y');
    await commits();
    expect(committed()).toEqual(['M', 'nested']);
  });
});

describe('a change after the checks', () => {
  it('is not committed and stays in the working tree', async () => {
    for (const name of ['a', 'b', 'c']) at.write(name, '1');
    at.commits();
    await recordStart();
    at.write('a', 'green');
    at.write('new', 'green');
    at.remove('b');
    const green = await found();
    at.write('a', 'later');
    at.remove('new');
    at.write('b', 'later');
    at.write('c', 'later');
    at.write('d', 'later');
    await commits('work', undefined, green);
    expect(committed()).toEqual(['M', 'a', 'D', 'b', 'A', 'new']);
    expect(at.git('show', 'HEAD:a', 'HEAD:new')).toBe('greengreen');
    expect(at.status).toEqual([' M a', ' M c', ' D new', '?? b', '?? d']);
  });

  it('that was committed meanwhile is not reverted', async () => {
    for (const name of ['a', 'b']) at.write(name, '1');
    at.commits();
    await recordStart();
    at.write('a', 'green');
    at.write('b', 'green');
    const head = at.git('rev-parse', 'HEAD').trim();
    const tree = await writeTree(at.repository(), at.scratch);
    at.write('a', 'newer');
    at.git('commit', '--quiet', '--message', 'newer', '--', 'a');
    const list = await changesSince(at.repository(), { start: START, tree, before: head });
    expect(list.map(({ path }) => path)).toEqual(['b']);
    await commits('work', undefined, list);
    expect(at.git('show', 'HEAD:a', 'HEAD:b')).toBe('newergreen');
    expect(at.status).toEqual([]);
  });
});

describe('a hook that changes and stages files', () => {
  it('gets them into the commit, and the index does not revert them', async () => {
    at.write('a', '1\n');
    at.commits();
    at.write('mine', '1');
    at.git('add', 'mine');
    await recordStart();
    at.write('a', '2\n');
    at.write('.git/hooks/pre-commit', '#!/bin/sh\necho 3 >>a; echo made >gen; git add a gen\n');
    chmodSync(at.path('.git/hooks/pre-commit'), 0o755);
    await commits();
    expect(at.git('show', 'HEAD:a')).toBe('2\n3\n');
    expect(at.status).toEqual(['A  mine']);
  });
});

describe('a commit that fails', () => {
  it('leaves the index as it was, including entries that the user staged for the same files', async () => {
    for (const name of ['a', 'd/x', 'gone']) at.write(name, '1');
    at.commits();
    at.write('mine', '1');
    at.write('a', 'staged');
    at.write('e/x', 'staged');
    at.git('add', 'mine', 'a', 'e/x');
    await recordStart();
    at.write('a', '2');
    at.write('b', '2');
    for (const name of ['d', 'e', 'gone']) at.remove(name);
    at.write('d', 'a file now');
    at.write('e', 'a file now');
    const before = [at.status, at.git('ls-files', '--stage')];
    at.write('.git/hooks/pre-commit', '#!/bin/sh\necho no; exit 1\n');
    chmodSync(at.path('.git/hooks/pre-commit'), 0o755);
    const make = await prepares('work');
    expect(make).toThrow('no');
    await cancelCommit(at.repository(), notes);
    expect([at.status, at.git('ls-files', '--stage')]).toEqual(before);
    // An attempt after a crash undoes the staging of the attempt before it.
    await prepares('work');
    await prepares('work');
    await cancelCommit(at.repository(), notes);
    expect([at.status, at.git('ls-files', '--stage')]).toEqual(before);
  });
});

describe('findAttemptedCommit', () => {
  it('finds a commit by its message, below later commits and with additions by a hook', async () => {
    at.commits();
    await recordStart();
    expect(wasAttempted(notes)).toBe(false);
    at.write('a', '1');
    at.write('.git/hooks/commit-msg', '#!/bin/sh\necho "Change-Id: 1" >>"$1"\n');
    chmodSync(at.path('.git/hooks/commit-msg'), 0o755);
    const make = await prepares('Add a');
    expect(wasAttempted(notes)).toBe(true);
    expect(await findAttemptedCommit(at.repository(), notes)).toBeNull();
    const made = make();
    expect(await findAttemptedCommit(at.repository(), notes)).toBe(made);
    at.commits('by a person');
    expect(await findAttemptedCommit(at.repository(), notes)).toBe(made);
  });

  it('ignores commits with another message', async () => {
    await recordStart();
    at.write('a', '1');
    await prepares('Add a');
    expect(await movedHead(at.repository(), notes)).toBeNull();
    at.commits('by a person');
    expect(await findAttemptedCommit(at.repository(), notes)).toBeNull();
    expect(await movedHead(at.repository(), notes)).toBe(at.git('rev-parse', 'HEAD').trim());
  });
});

describe('a repository that cannot be committed to', () => {
  const problem = async () => problemWith(at.repository());
  /** Two branches that conflict. */
  const conflict = () => {
    at.write('a', '1');
    at.commits();
    at.git('switch', '--quiet', '-c', 'other');
    at.write('a', '2');
    at.commits('other');
    at.git('switch', '--quiet', 'main');
    at.write('a', '3');
    at.commits('main');
  };

  it.each([
    ['a merge', ['merge', 'other'], 'git merge --abort'],
    ['a rebase', ['rebase', 'other'], 'git rebase --continue'],
    ['a cherry-pick', ['cherry-pick', 'other'], 'git cherry-pick --abort'],
    ['a revert', ['revert', '--no-edit', 'HEAD~1'], 'git revert --abort'],
  ])('reports %s in progress', async (what, args, remedy) => {
    conflict();
    expect(await problem()).toBeNull();
    expect(() => at.git(...args)).toThrow('Command failed');
    expect(await problem()).toContain(`${what} is in progress`);
    expect(await problem()).toContain(remedy);
  });

  it('reports the problem and the remedy', async () => {
    conflict();
    at.git('bisect', 'start');
    expect(await problem()).toContain('git bisect reset');
    at.git('bisect', 'reset');
    at.git('checkout', '--quiet', '--detach');
    expect(await problem()).toContain('git switch -c');
    at.git('switch', '--quiet', 'main');
    at.write('a', '4');
    at.git('stash');
    at.write('a', '5');
    at.commits('five');
    expect(() => at.git('stash', 'pop')).toThrow('Command failed');
    expect(await problem()).toContain('conflicts');
    const outside = { ...at.repository(), folder: notes };
    expect(await problemWith(outside)).toContain('git init');
    const bare = { ...at.repository(), folder: at.path('.git') };
    expect(await problemWith(bare)).toContain('bare');
  });

  it('reports a missing identity', async () => {
    const env = { PATH: at.env['PATH'] ?? '', GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
    at.git('config', 'user.useConfigOnly', 'true');
    const anonymous = { ...at.repository(), env };
    expect(await problemWith(anonymous)).toContain('git config user.name');
    expect(readFileSync(at.path('.git/HEAD'), 'utf8')).toBe('ref: refs/heads/main\n');
  });
});
