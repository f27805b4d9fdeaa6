import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { withWorktreeLock } from './worktree-lock.ts';

it('lets one process at a time change worktrees, and releases the lock after a failure', async () => {
  const git = new GitFolder();
  git.commits();
  git.git('worktree', 'add', '--quiet', '../other');
  const said: string[] = [];
  const step = (folder: string, name: string) =>
    withWorktreeLock(git.repository(folder), async () => {
      said.push(`${name} begins`);
      await sleep(20);
      said.push(`${name} ends`);
      throw new Error(name);
    });
  const ended = await Promise.allSettled([step('.', 'a'), step('../other', 'b')]);
  expect(ended.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(said[1]).toBe(said[0]?.replace('begins', 'ends'));
  expect(said).toHaveLength(4);
  git.close();
});
