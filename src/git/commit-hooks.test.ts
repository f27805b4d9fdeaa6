import { afterEach, beforeEach, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { mayHaveHooks } from './commit.ts';

let at: GitFolder;
beforeEach(() => {
  at = GitFolder.begun();
});
afterEach(() => at.close());

it('finds hooks that are added later, and leaves out samples', async () => {
  at.write('.git/hooks/pre-commit.sample', '');
  expect(await mayHaveHooks(at.repository())).toBe(false);
  at.write('.git/hooks/pre-commit', '');
  expect(await mayHaveHooks(at.repository())).toBe(true);
});

it.each(['core.hooksPath', 'hook.lint.command'])('assumes hooks with the setting %s', async (setting) => {
  at.git('config', setting, 'elsewhere');
  expect(await mayHaveHooks(at.repository())).toBe(true);
});
