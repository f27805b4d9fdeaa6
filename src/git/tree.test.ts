import { chmodSync, readFileSync, symlinkSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { removeRecords } from './records.ts';
import { readRecord, recordName, recordTree, writeTree } from './tree.ts';

let at: GitFolder;
beforeEach(() => {
  at = new GitFolder();
});
afterEach(() => at.close());
const tree = (folder?: string) => writeTree(at.repository(folder), at.scratch);

describe('the tree of a workspace', () => {
  it('has what is tracked and what is not, and neither what is ignored nor any .ralph', async () => {
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

  it('leaves the index, the branch and the files as they are', async () => {
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

  it('is there without any commit, and without any file', async () => {
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

  it('sees a change within the same second and of the same length', async () => {
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

  it('of a folder in a bigger repository has the rest as the index has it', async () => {
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

  it('has a repository inside of it by its commit, and does without one that has none', async () => {
    at.git('init', '--quiet', 'nested');
    at.write('a', '1');
    expect(at.files(await tree())).toEqual(['a']);
    at.git('-C', 'nested', 'commit', '--quiet', '--allow-empty', '--message', 'x');
    expect(at.git('ls-tree', await tree(), 'nested')).toMatch(/^160000 commit/);
  });

  it('does without what may not be read', async () => {
    at.write('a', '1');
    at.write('secret', '1');
    chmodSync(at.path('secret'), 0);
    const files = at.files(await tree());
    // Root may read everything.
    expect(files.filter((file) => file !== 'secret')).toEqual(['a']);
  });
});

describe('a record', () => {
  const record = async (id: string, what: string) =>
    recordTree(at.repository(), { ref: recordName(id, what), tree: await tree(), message: 'm' });

  it('says how everything was and what was checked out, and no branch shows it', async () => {
    at.write('a', '1');
    at.commits();
    const head = at.git('rev-parse', 'HEAD').trim();
    at.write('a', '2');
    await record('it-1a2b3c4d', 'start');
    at.commits('later');
    const { tree: written, base } = await readRecord(at.repository(), 'refs/ralph/it-1a2b3c4d/start');
    expect(base).toBe(head);
    expect(at.git('show', `${written}:a`)).toBe('2');
    expect(at.git('log', '--format=%s', '--branches')).toBe('later\nbegin\n');
  });

  it('can be made before the first commit, by nobody in particular, and be removed with its like', async () => {
    at.write('a', '1');
    await record('a..b-1', 'start');
    await record('a..b-1', '1');
    await record('a..b-2', 'start');
    const { base } = await readRecord(at.repository(), recordName('a..b-1', 'start'));
    expect(at.files(base)).toEqual([]);
    await removeRecords(at.repository(), 'a..b-1');
    expect(at.git('for-each-ref', '--format=%(refname)')).toBe('refs/ralph/a.b-2/start\n');
    await expect(readRecord(at.repository(), recordName('a..b-1', 'start'))).rejects.toThrow('is gone');
  });
});
