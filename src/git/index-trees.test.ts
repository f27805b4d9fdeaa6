import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { treesOf, writeTrees } from './index-trees.ts';

let at: GitFolder;
beforeEach(() => {
  at = GitFolder.begun();
});
afterEach(() => at.close());

const trees = () => {
  const found = treesOf(at.path('.git/index'));
  if (found === null) throw new Error('the index cannot be read');
  return found;
};
/** The files of a tree as git lists those of the index. */
const filesOf = (tree: string) => at.git('ls-tree', '-r', '-z', tree).replaceAll(/ (?:blob|commit) /g, ' ');
const filesInIndex = () => at.git('ls-files', '--stage', '-z').replaceAll(/ 0\t/g, '\t');

describe('the trees of an index', () => {
  it('are written as git would write them, in every folder', async () => {
    for (const path of ['n-b', 'n.b/c', 'n/b/c/d', 'n/b/e', 'n0', 'Ł/é\n', 'z/y']) at.write(path, path);
    at.git('add', '--all');
    const written = trees();
    expect(await writeTrees(at.repository(), written, new Set())).toBe(true);
    expect(filesOf(written.id)).toBe(filesInIndex());
    expect(at.git('fsck', '--strict', '--no-dangling')).toBe('');
    expect(at.git('write-tree').trim()).toBe(written.id);
  });

  it('are not written again if they are known', async () => {
    at.write('same/a', '1');
    at.write('other/b', '1');
    at.git('add', '--all');
    at.git('write-tree');
    const before = trees();
    at.git('-c', 'pack.threads=1', 'commit', '--quiet', '--message', 'all');
    at.git('repack', '-a', '-d', '--quiet');
    at.write('other/b', '2');
    at.git('add', '--all');
    const after = trees();
    await writeTrees(at.repository(), after, new Set(before.objects.keys()));
    expect(filesOf(after.id)).toBe(filesInIndex());
    const loose = at.git('count-objects').split(' ')[0];
    // The file, its folder and the root.
    expect(loose).toBe('3');
  });

  it('are left to git where a setting changes how it writes objects', async () => {
    at.git('config', 'core.sharedRepository', 'group');
    at.write('a', '1');
    at.git('add', '--all');
    expect(await writeTrees(at.repository(), trees(), new Set())).toBe(false);
  });
});
