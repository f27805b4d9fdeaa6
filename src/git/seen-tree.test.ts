import { mkdirSync, renameSync, truncateSync, utimesSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { takeCheckpoint } from './records.ts';
import { fingerprintOfSeen, seeTree } from './seen-tree.ts';

let at: GitFolder;
const repositoryIn = (folder = '.') => ({ ...at.repository(folder), maxFileBytes: 1000 });
const look = (folder?: string) => seeTree(repositoryIn(folder), at.scratch);
const now = async (folder?: string) => fingerprintOfSeen(repositoryIn(folder), await look(folder));

beforeEach(() => {
  at = new GitFolder();
});
afterEach(() => at.close());

describe('the fingerprint of a tree that was seen', () => {
  it('changes with every change and stays the same without one', async () => {
    at.write('a', '1');
    const seen = [await now()];
    expect(await now()).toBe(seen[0]);
    const changes: readonly (() => void)[] = [
      () => at.write('a', '2'),
      () => at.git('add', 'a'),
      () => at.git('commit', '--quiet', '-m', 'a'),
      () => at.write('a', '3'),
      // Same length, in a file that was already changed.
      () => at.write('a', '4'),
      () => at.write('ü and blanks', '1'),
      () => at.write('ü and blanks', '2'),
      () => renameSync(at.path('a'), at.path('b')),
      () => at.git('add', '-A'),
      () => at.write('.gitignore', 'b\n'),
      () => at.write('large', 'x'.repeat(2000)),
      () => truncateSync(at.path('large'), 1500),
    ];
    for (const change of changes) {
      change();
      // oxlint-disable-next-line no-await-in-loop -- one after the other is the point
      seen.push(await now());
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).not.toContain(null);
  });

  it('is the same after a change is reverted, and for a commit that restores earlier files', async () => {
    at.write('a', '1');
    at.commits('one');
    const before = await now();
    at.write('a', '2');
    at.git('commit', '--quiet', '-am', 'two');
    expect(await now()).not.toBe(before);
    at.write('a', '1');
    at.git('commit', '--quiet', '-am', 'three');
    expect(await now()).toBe(before);
    utimesSync(at.path('a'), 1, 1);
    at.git('status');
    expect(await now()).toBe(before);
  });

  it('ignores what git ignores, and .ralph', async () => {
    at.write('.gitignore', 'out\n');
    const before = await now();
    at.write('out', '1');
    at.write('.ralph/settings.json', '{}');
    at.git('add', '--force', '.ralph/settings.json');
    expect(await now()).toBe(before);
  });

  it('is not known where the tree does not tell everything', async () => {
    at.write('sub/a', '1');
    at.commits();
    expect(await now()).not.toBeNull();
    // Files outside of the workspace count, and its tree does not have them.
    expect(await now('sub')).toBeNull();
    mkdirSync(at.path('inner'));
    at.git('init', '--quiet', 'inner');
    at.write('inner/a', '1');
    expect(await now()).toBeNull();
    at.git('-C', 'inner', 'commit', '--quiet', '--allow-empty', '-m', 'x');
    expect(await now()).toBeNull();
  });
});

it('a checkpoint of a tree that was seen is that tree, whatever has changed since', async () => {
  at.write('a', '1');
  at.commits();
  at.write('a', '2');
  const seen = await look();
  at.write('a', '3');
  const { ref } = await takeCheckpoint(at.repository(), { id: 'it-1', name: 'it' }, 1, seen);
  expect(at.git('show', `${ref}:a`)).toBe('2');
});
