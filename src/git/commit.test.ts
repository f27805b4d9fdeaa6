import { chmodSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { changesSince } from './changes.ts';
import type { Difference } from './differences.ts';
import { madeBefore, movedTo, prepareCommit, settle, takeBack, wasAttempted } from './commit.ts';
import { problemWith } from './state.ts';
import { recordTree, writeTree } from './tree.ts';

const START = 'refs/ralph/it/start';
let at: GitFolder;
let notes: string;
beforeEach(() => {
  at = new GitFolder();
  notes = join(at.folder, 'notes');
  mkdirSync(notes);
});
afterEach(() => at.close());

const begins = async (folder?: string) => {
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
/** Gives what makes the commit. */
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
  await settle(at.repository(folder), notes, make());
};
/** What the last commit has changed. */
const committed = () =>
  at.git('show', '--format=', '--name-status', '--no-renames', '-z', 'HEAD').split('\0').slice(0, -1);

describe('what a loop commits', () => {
  it('is what has changed since it began: new, changed, removed and renamed', async () => {
    for (const name of ['changed', 'removed', 'moved', 'same']) at.write(name, name);
    at.commits();
    await begins();
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

  it('is nothing of the user’s that it has not touched, which stays as it was, staged or not', async () => {
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
    await begins();
    expect(await changes()).toEqual([]);
    at.write('work', '2');
    at.write('new', '1');
    await commits();
    expect(committed()).toEqual(['A', 'new', 'M', 'work']);
    expect(at.status).toEqual(before);
    expect(at.git('show', ':half')).toBe('2');
  });

  it('is all of a file that was changed before and again, and of one that was only staged', async () => {
    at.write('a', '1\n');
    at.commits();
    at.write('a', '1\nuser\n');
    at.write('b', 'user\n');
    at.git('add', 'b');
    await begins();
    at.write('a', '1\nuser\nloop\n');
    at.write('b', 'user\nloop\n');
    await commits();
    expect(committed()).toEqual(['M', 'a', 'A', 'b']);
    expect(at.git('show', 'HEAD:a', 'HEAD:b')).toBe('1\nuser\nloop\nuser\nloop\n');
    expect(at.status).toEqual([]);
  });

  it('is also what becomes again as it was at the beginning', async () => {
    at.write('a', '1');
    at.commits();
    await begins();
    at.write('a', '2');
    at.write('b', '2');
    await commits();
    at.write('a', '1');
    at.remove('b');
    expect(await changes()).toEqual(['changed a', 'gone b']);
    await commits();
    expect(at.status).toEqual([]);
  });

  it('is not what the agent has committed itself', async () => {
    at.commits();
    await begins();
    at.write('a', '1');
    at.commits('by the agent');
    expect(await changes()).toEqual([]);
    at.write('b', '1');
    expect(await changes()).toEqual(['new b']);
  });

  it('works before the first commit, with files of any name and kind', async () => {
    at.write('mine', '1');
    await begins();
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

  it('keeps a message that looks like a comment', async () => {
    at.git('config', 'commit.cleanup', 'strip');
    await begins();
    at.write('a', '1');
    await commits('# 7: fix it');
    expect(at.git('log', '-1', '--format=%s')).toBe('# 7: fix it\n');
  });

  it('may be a folder in the place of a file, and the other way round', async () => {
    for (const name of ['a', 'd/x', 'e/x', 'l/x', 'gone']) at.write(name, '1');
    at.commits();
    await begins();
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

  it('of a folder in a bigger repository is only what lies in it', async () => {
    at.write('sub/a', '1');
    at.write('other', '1');
    at.commits();
    await begins('sub');
    at.write('sub/a', '2');
    at.write('sub/b', '2');
    at.write('other', '2');
    at.write('new', '2');
    at.write('sub/.ralph/x', '2');
    expect(await changes('sub')).toEqual(['changed sub/a', 'new sub/b']);
    await commits('work', 'sub');
    expect(at.status).toEqual([' M other', '?? new', '?? sub/.ralph/x']);
  });

  it('is no repository in the repository, unless that is a submodule', async () => {
    at.commits();
    await begins();
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

describe('what happens after the checks', () => {
  it('is not in the commit, and stays where it is', async () => {
    for (const name of ['a', 'b', 'c']) at.write(name, '1');
    at.commits();
    await begins();
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

  it('and was committed by somebody is newer, and not undone', async () => {
    for (const name of ['a', 'b']) at.write(name, '1');
    at.commits();
    await begins();
    at.write('a', 'green');
    at.write('b', 'green');
    const head = at.git('rev-parse', 'HEAD').trim();
    const tree = await writeTree(at.repository(), at.scratch);
    at.write('a', 'newer');
    at.git('commit', '--quiet', '--message', 'newer', '--', 'a');
    const list = await changesSince(at.repository(), { start: START, tree, head });
    expect(list.map(({ path }) => path)).toEqual(['b']);
    await commits('work', undefined, list);
    expect(at.git('show', 'HEAD:a', 'HEAD:b')).toBe('newergreen');
    expect(at.status).toEqual([]);
  });
});

describe('a hook that changes and stages files', () => {
  it('has them in the commit, and the index does not take them back', async () => {
    at.write('a', '1\n');
    at.commits();
    at.write('mine', '1');
    at.git('add', 'mine');
    await begins();
    at.write('a', '2\n');
    at.write('.git/hooks/pre-commit', '#!/bin/sh\necho 3 >>a; echo made >gen; git add a gen\n');
    chmodSync(at.path('.git/hooks/pre-commit'), 0o755);
    await commits();
    expect(at.git('show', 'HEAD:a')).toBe('2\n3\n');
    expect(at.status).toEqual(['A  mine']);
  });
});

describe('a commit that fails', () => {
  it('leaves everything as it was, also what the user has staged of the same files', async () => {
    for (const name of ['a', 'd/x', 'gone']) at.write(name, '1');
    at.commits();
    at.write('mine', '1');
    at.write('a', 'staged');
    at.write('e/x', 'staged');
    at.git('add', 'mine', 'a', 'e/x');
    await begins();
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
    await takeBack(at.repository(), notes);
    expect([at.status, at.git('ls-files', '--stage')]).toEqual(before);
    // The next one takes back what an owner has announced that did not live to do so.
    await prepares('work');
    await prepares('work');
    await takeBack(at.repository(), notes);
    expect([at.status, at.git('ls-files', '--stage')]).toEqual(before);
  });
});

describe('a commit that nobody heard of', () => {
  it('is recognised by its message, also under another one and with more in it', async () => {
    at.commits();
    await begins();
    expect(wasAttempted(notes)).toBe(false);
    at.write('a', '1');
    at.write('.git/hooks/commit-msg', '#!/bin/sh\necho "Change-Id: 1" >>"$1"\n');
    chmodSync(at.path('.git/hooks/commit-msg'), 0o755);
    const make = await prepares('Add a');
    expect(wasAttempted(notes)).toBe(true);
    expect(await madeBefore(at.repository(), notes)).toBeNull();
    const made = make();
    expect(await madeBefore(at.repository(), notes)).toBe(made);
    at.commits('by a person');
    expect(await madeBefore(at.repository(), notes)).toBe(made);
  });

  it('is not taken for one of somebody else', async () => {
    await begins();
    at.write('a', '1');
    await prepares('Add a');
    expect(await movedTo(at.repository(), notes)).toBeNull();
    at.commits('by a person');
    expect(await madeBefore(at.repository(), notes)).toBeNull();
    expect(await movedTo(at.repository(), notes)).toBe(at.git('rev-parse', 'HEAD').trim());
  });
});

describe('a repository that cannot be committed to', () => {
  const problem = async () => problemWith(at.repository());
  /** Two branches that do not fit. */
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
  ])('%s in progress', async (what, args, remedy) => {
    conflict();
    expect(await problem()).toBeNull();
    expect(() => at.git(...args)).toThrow('Command failed');
    expect(await problem()).toContain(`${what} is in progress`);
    expect(await problem()).toContain(remedy);
  });

  it('says what else is the matter, and what to do', async () => {
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

  it('wants to know who commits', async () => {
    const env = { PATH: at.env['PATH'] ?? '', GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
    at.git('config', 'user.useConfigOnly', 'true');
    const nobody = { ...at.repository(), env };
    expect(await problemWith(nobody)).toContain('git config user.name');
    expect(readFileSync(at.path('.git/HEAD'), 'utf8')).toBe('ref: refs/heads/main\n');
  });
});
