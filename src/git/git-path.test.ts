import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { gitPath } from './git.ts';

const QUESTIONS = [
  ['--absolute-git-dir'],
  ['--git-common-dir'],
  ['--git-path', 'objects'],
  ['--git-path', 'index'],
  ['--git-path', 'info'],
] as const;

let at: GitFolder;
beforeEach(() => {
  at = GitFolder.begun();
});
afterEach(() => at.close());

/** What git says to one question. */
function said(folder: string, what: readonly string[]): string {
  return at.git('-C', folder, 'rev-parse', '--path-format=absolute', ...what).replace(/\n$/, '');
}

it.each(['repository', 'new\nline'])(
  'says what git says to each question, in a folder named %j',
  async (name) => {
    const folder = at.path(name);
    mkdirSync(folder);
    at.git('init', '--quiet', folder);
    const repository = { ...at.repository(), folder };
    // oxlint-disable-next-line no-await-in-loop -- the first answer is remembered for the others
    for (const what of QUESTIONS) expect(await gitPath(repository, what)).toBe(said(folder, what));
  },
);

it('asks again for an index in a repository that has moved', async () => {
  const folder = at.path('moved');
  at.git('init', '--quiet', folder);
  const repository = { ...at.repository(), folder };
  expect(await gitPath(repository, ['--git-path', 'index'])).toBe(join(folder, '.git', 'index'));
  renameSync(join(folder, '.git'), at.path('elsewhere'));
  at.git('init', '--quiet', '--separate-git-dir', at.path('elsewhere'), folder);
  expect(await gitPath(repository, ['--git-path', 'index'])).toBe(said(folder, ['--git-path', 'index']));
  rmSync(folder, { recursive: true });
});

it('does not remember the index of one command for others', async () => {
  const repository = at.repository();
  const scratch = { ...repository, env: { ...repository.env, GIT_INDEX_FILE: at.path('scratch-index') } };
  await gitPath(scratch, ['--git-path', 'objects']);
  expect(await gitPath(repository, ['--git-path', 'index'])).toBe(
    said(at.path('.'), ['--git-path', 'index']),
  );
});
