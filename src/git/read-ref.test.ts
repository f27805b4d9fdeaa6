import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { checkedOutBranch } from './read-ref.ts';

let at: GitFolder;
beforeEach(() => {
  at = GitFolder.begun();
});
afterEach(() => at.close());

it('knows the branch that is checked out, in a repository and in a worktree', async () => {
  const branch = () => checkedOutBranch(at.repository());
  expect(await branch()).toBe('main');
  at.git('checkout', '--quiet', '-b', 'fix/the-tests');
  expect(await branch()).toBe('fix/the-tests');
  at.git('worktree', 'add', '--quiet', '-b', 'other', at.path('tree'));
  expect(await checkedOutBranch(at.repository('tree'))).toBe('other');
  at.git('checkout', '--quiet', '--detach');
  expect(await branch()).toBeNull();
  at.git('checkout', '--quiet', '--orphan', 'unborn');
  expect(await branch()).toBe('unborn');
});

it('leaves a HEAD to git that is no usual one', async () => {
  for (const head of [
    'ref: refs/heads/.invalid\n',
    'ref: refs/heads/a\u001B[31mb\n',
    'ref: refs/tags/v1\n',
  ]) {
    writeFileSync(at.path('.git/HEAD'), head);
    // oxlint-disable-next-line no-await-in-loop -- one repository
    expect(await checkedOutBranch(at.repository())).toBeUndefined();
  }
});
