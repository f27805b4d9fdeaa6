import { afterEach, beforeEach, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { readCommit } from './made-commit.ts';

let at: GitFolder;
beforeEach(() => {
  at = new GitFolder();
});
afterEach(() => at.close());

const parsed = (revision: string) => at.git('rev-parse', revision).trim();
const shown = async (revision = 'HEAD') => {
  const { files, ...made } = await readCommit(at.repository(), revision);
  return { ...made, files: files.map(({ path, kind }) => `${kind} ${path}`) };
};

it('a commit has its ids, subject, files and branch', async () => {
  at.write('a', '1');
  at.write('new\nline', '1');
  at.commits('Füge a hinzu\n\nBody');
  const first = parsed('HEAD');
  const tree = parsed('HEAD^{tree}');
  const files = ['new a', 'new new\nline'];
  const subject = 'Füge a hinzu';
  expect(await shown()).toEqual({ commit: first, tree, subject, branch: 'main', files });
  at.git('switch', '--quiet', '-c', 'fo/bär');
  at.commits('empty');
  const empty = { commit: parsed('HEAD'), tree, subject: 'empty', branch: 'fo/bär', files: [] };
  expect(await shown()).toEqual(empty);
  expect(await shown(first)).toMatchObject({ commit: first, subject, files });
  at.git('checkout', '--quiet', '--detach');
  expect(await shown()).toEqual({ ...empty, branch: null });
  await expect(shown('none')).rejects.toThrow('git diff-tree failed');
});

it('a merge has no subject and no files, and a commit without a message has files', async () => {
  at.commits();
  at.git('switch', '--quiet', '-c', 'side');
  at.write('b', '1');
  at.git('add', '--all');
  at.git('commit', '--quiet', '--allow-empty-message', '--message', '');
  expect(await shown()).toMatchObject({ subject: '', files: ['new b'] });
  at.git('switch', '--quiet', 'main');
  at.commits('main');
  at.git('merge', '--quiet', '--message', 'merged', 'side');
  expect(await shown()).toMatchObject({ commit: parsed('HEAD'), subject: '', files: [], branch: 'main' });
});
