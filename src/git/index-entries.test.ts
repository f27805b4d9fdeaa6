import { chmodSync, rmSync, symlinkSync } from 'node:fs';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { differences } from './differences.ts';
import { indexDifferences, readEntries } from './index-entries.ts';
import { treesOf } from './index-trees.ts';
import { copyIndex, treeOfIndex } from './tree.ts';

let at: GitFolder;
beforeEach(() => {
  at = GitFolder.begun();
});
afterEach(() => at.close());

const index = () => at.path('.git/index');
const copy = () => copyIndex(at.repository(), at.scratch);
const name = fc.constantFrom('a', 'ab', 'folder/b', 'folder/c d', 'Ł', 'x'.repeat(70), '-', 'a.b');
const step = fc.record({ name, kind: fc.constantFrom('write', 'remove', 'mode', 'link') });

describe('the entries of an index', () => {
  it('differ as git says', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 2 }), async (rounds) => {
        await copy();
        const from = at.git('write-tree').trim();
        for (const steps of rounds) {
          for (const [number, { name: path, kind }] of steps.entries()) {
            rmSync(at.path(path), { recursive: true, force: true });
            if (kind === 'write') at.write(path, String(number));
            if (kind === 'mode') {
              at.write(path, '');
              chmodSync(at.path(path), 0o755);
            }
            if (kind === 'link' && !path.includes('/')) symlinkSync('a', at.path(path));
          }
          at.git('add', '--all');
        }
        const to = at.git('write-tree').trim();
        expect(indexDifferences(at.scratch, index())).toEqual(await differences(at.repository(), from, to));
        expect(treesOf(at.scratch)?.id).toBe(from);
        expect(treesOf(index())?.id).toBe(to);
      }),
      { numRuns: 25 },
    );
  });

  it('stay equal if git only notes the times of files', async () => {
    at.write('a', '1');
    at.git('add', 'a');
    await copy();
    at.write('a', '1');
    at.git('update-index', '--refresh');
    expect(treesOf(index())?.id).toBe(treesOf(at.scratch)?.id);
    expect(await treeOfIndex(at.repository(), at.scratch)).toBe(at.git('write-tree').trim());
  });

  it.each([
    ['names in short', () => at.git('update-index', '--index-version=4')],
    ['a second file', () => at.git('update-index', '--split-index')],
  ])('are not read from an index with %s', async (_, change) => {
    at.write('a', '1');
    at.git('add', 'a');
    change();
    expect(readEntries(index())).toBeNull();
  });

  it.each([
    ['a promise to add a file', () => at.git('add', '--intent-to-add', 'b')],
    ['a file that is not checked out', () => at.git('update-index', '--skip-worktree', 'a')],
  ])('are not compared with %s', async (_, change) => {
    at.write('a', '1');
    at.git('add', 'a');
    at.write('b', '1');
    await copy();
    change();
    expect(indexDifferences(at.scratch, index())).toBeNull();
    expect(treesOf(index())).toBeNull();
  });

  it('are not read from a file that is no index, or from none', () => {
    at.write('text', 'text');
    expect(readEntries(at.path('text'))).toBeNull();
    expect(readEntries(at.path('none'))).toBeNull();
  });
});
