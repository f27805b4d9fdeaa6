import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { changesSince } from './changes.ts';
import { removeRecords } from './records.ts';
import { recordName, recordTree } from './refs.ts';
import { treeOfIndex, withTree, writeTree } from './tree.ts';

let at: GitFolder;
beforeEach(() => {
  at = new GitFolder();
});
afterEach(() => at.close());
const tree = (folder?: string) => writeTree(at.repository(folder), at.scratch);

const isRoot = process.getuid?.() === 0;

/** As root, drops the privileges: root can read every file. */
function unprivilegedGit(): readonly [string, ...string[]] {
  if (!isRoot) return ['git'];
  execFileSync('chown', ['-R', '65534', at.folder]);
  mkdirSync(dirname(at.scratch));
  chmodSync(dirname(at.scratch), 0o777);
  const drop = ['--reuid=65534', '--regid=65534', '--clear-groups'];
  return ['setpriv', ...drop, 'git', '-c', 'safe.directory=*'];
}

describe('the tree of a workspace', () => {
  it('has tracked and untracked files, but no ignored files and no .ralph', async () => {
    at.write('.gitignore', 'ignored\n');
    at.write('tracked', '1');
    at.commits();
    at.write('tracked', '2');
    for (const name of ['new', 'ignored', '.ralph/state', 'deep/.ralph/loops/x', 'deep/file'])
      at.write(name, 'x');
    const written = await tree();
    expect(at.files(written)).toEqual(['.gitignore', 'deep/file', 'new', 'tracked']);
    expect(at.git('show', `${written}:tracked`)).toBe('2');
  });

  it('leaves the index, the branch and the files untouched', async () => {
    at.write('a', '1');
    at.commits();
    at.write('a', '2');
    at.git('add', 'a');
    at.write('a', '3');
    at.write('b', 'new');
    const before = [
      at.status,
      at.git('rev-parse', 'HEAD'),
      readFileSync(at.path('.git/index')).toString('hex'),
    ];
    await tree();
    expect([
      at.status,
      at.git('rev-parse', 'HEAD'),
      readFileSync(at.path('.git/index')).toString('hex'),
    ]).toEqual(before);
  });

  it('can be written without any commit or file', async () => {
    expect(at.files(await tree())).toEqual([]);
    at.write('a', '1');
    expect(at.files(await tree())).toEqual(['a']);
  });

  it('has files of any name and kind', async () => {
    const names = ['-dash', 'a "quote"', 'b\nline', 'c blank', 'd*?[x]', ':(top)e', 'ü'];
    for (const name of names) at.write(name, name);
    symlinkSync('nowhere', at.path('link'));
    at.write('run', '#!/bin/sh\n');
    chmodSync(at.path('run'), 0o755);
    const written = await tree();
    expect(at.files(written).toSorted()).toEqual([...names, 'link', 'run'].toSorted());
    expect(at.git('ls-tree', written, 'link', 'run')).toMatch(/^120000 .*link\n100755 .*run\n$/);
  });

  it('has a change of the same length within the same second', async () => {
    at.write('a', '1');
    at.commits();
    const before = await tree();
    for (const text of ['2', '3', '4']) {
      at.write('a', text);
      // oxlint-disable-next-line no-await-in-loop -- one after the other is the point
      expect(at.git('show', `${await tree()}:a`)).toBe(text);
    }
    at.write('a', '1');
    expect(await tree()).toBe(before);
  });

  it('has files outside of the workspace as the index has them', async () => {
    at.write('other/file', '1');
    at.write('sub/file', '1');
    at.commits();
    at.write('other/file', '2');
    at.write('other/new', '2');
    at.write('sub/file', '2');
    const written = await tree('sub');
    expect(at.files(written)).toEqual(['other/file', 'sub/file']);
    expect([at.git('show', `${written}:other/file`), at.git('show', `${written}:sub/file`)]).toEqual([
      '1',
      '2',
    ]);
  });

  it('has a nested repository by its commit, and skips one without commits', async () => {
    at.git('init', '--quiet', 'nested');
    at.write('a', '1');
    expect(at.files(await tree())).toEqual(['a']);
    at.git('-C', 'nested', 'commit', '--quiet', '--allow-empty', '--message', 'x');
    expect(at.git('ls-tree', await tree(), 'nested')).toMatch(/^160000 commit/);
  });

  it('skips and reports files that cannot be read', { tags: isRoot ? ['setpriv'] : [] }, async () => {
    at.write('a', '1');
    at.write('secret', '1');
    at.write('data/x', '1');
    chmodSync(at.path('secret'), 0);
    chmodSync(at.path('data'), 0);
    const unprivileged = { ...at.repository(), command: unprivilegedGit() };
    const { tree: written, unread } = await withTree(unprivileged, at.scratch, async (seen) => seen);
    chmodSync(at.path('data'), 0o755);
    const files = at.git('-c', 'safe.directory=*', 'ls-tree', '-r', '--name-only', written);
    expect([files, [...unread].toSorted()]).toEqual(['a\n', ['data/', 'secret']]);
  });

  it('fails if a file cannot be written to the repository', async () => {
    at.write('a', '1');
    at.write('b', '2');
    const id = at.git('hash-object', 'b').trim();
    at.write(`.git/objects/${id.slice(0, 2)}`, 'in the way');
    await expect(tree()).rejects.toThrow(/^git add failed: .*b: failed to insert into database/);
  });

  it('has files outside of a sparse checkout, hidden ones as the index has them', async () => {
    for (const name of ['src/f', 'docs/f', 'docs/.ralph/f', 'hidden/f']) at.write(name, '1');
    at.commits();
    at.git('sparse-checkout', 'set', 'src');
    at.write('docs/f', '2');
    at.write('docs/new', '2');
    const written = await tree();
    expect(at.files(written)).toEqual(['docs/f', 'docs/new', 'hidden/f', 'src/f']);
    expect(at.git('show', `${written}:docs/f`)).toBe('2');
    expect(at.files(await tree('docs'))).toEqual(['docs/f', 'docs/new', 'hidden/f', 'src/f']);
    // A git that does not know --sparse.
    at.write('../git', '#!/bin/sh\ncase " $* " in *" --sparse "*) exit 129 ;; esac\nexec git "$@"\n');
    const old = { ...at.repository(), command: ['sh', at.path('../git')] as const };
    expect(at.git('show', `${await writeTree(old, at.scratch)}:src/f`)).toBe('1');
  });

  it('can be written whatever the settings say about line ends', async () => {
    at.git('config', 'core.autocrlf', 'true');
    at.git('config', 'core.safecrlf', 'true');
    at.write('mixed', 'a\r\nb\n');
    expect(at.files(await tree())).toEqual(['mixed']);
  });

  it('names the git command that failed', async () => {
    at.write('.git/index', 'broken');
    await expect(tree()).rejects.toThrow(/^git ls-files failed: /);
    await expect(treeOfIndex(at.repository(), at.path('.git/index'))).rejects.toThrow(
      /^git write-tree failed: /,
    );
  });
});

describe('a record', () => {
  const record = async (id: string, what: string) =>
    recordTree(at.repository(), { ref: recordName(id, what), tree: await tree(), message: 'm' });

  it('has the tree and what was checked out, and is on no branch', async () => {
    at.write('a', '1');
    at.commits();
    const head = at.git('rev-parse', 'HEAD').trim();
    at.write('a', '2');
    await record('it-1a2b3c4d', 'start');
    at.commits('later');
    expect(at.git('rev-parse', 'refs/ralph/it-1a2b3c4d/start^').trim()).toBe(head);
    expect(at.git('show', 'refs/ralph/it-1a2b3c4d/start:a')).toBe('2');
    expect(at.git('log', '--format=%s', '--branches')).toBe('later\nbegin\n');
  });

  it('can be made before the first commit, and be removed with the others of its loop', async () => {
    at.write('a', '1');
    await record('a..b-1', 'start');
    await record('a..b-1', '1');
    await record('a..b-2', 'start');
    const first = recordName('a..b-1', 'start');
    expect(at.git('log', '--format=%P', first)).toBe('\n');
    await removeRecords(at.repository(), 'a..b-1');
    expect(at.git('for-each-ref', '--format=%(refname)')).toBe('refs/ralph/a.b-2/start\n');
    const since = changesSince(at.repository(), { start: first, tree: await tree() });
    await expect(since).rejects.toThrow("the record of the loop's start is gone");
  });
});

it('a subfolder with a long name is recorded whatever is excluded, and without .ralph', async () => {
  const folder = 'a folder/with a long name/so that patterns are shorter';
  at.write('a', '1');
  at.commits();
  at.write(`${folder}/b`, '1');
  at.write(`${folder}/large`, 'x'.repeat(2000));
  at.write(`${folder}/.ralph/settings.json`, '{}');
  const repository = { ...at.repository(folder), maxFileBytes: 1000 };
  expect(at.files(await writeTree(repository, at.scratch))).toEqual(['a', `${folder}/b`]);
});
