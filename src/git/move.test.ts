import { chmodSync, existsSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { moveBranch } from './move.ts';

let git: GitFolder;
let from: string;
let to: string;
beforeEach(() => {
  git = new GitFolder();
  for (const file of ['a', 'gone', 'mine']) git.write(file, '1');
  git.commits();
  from = git.git('rev-parse', 'HEAD').trim();
  git.git('switch', '--quiet', '--create', 'work');
  git.write('a', '2');
  git.write('new/file', '2');
  git.remove('gone');
  git.commits();
  to = git.git('rev-parse', 'HEAD').trim();
  git.git('switch', '--quiet', 'main');
  // The user is about to commit this.
  git.write('mine', 'staged');
  git.git('add', 'mine');
  git.write('mine', 'changed');
});
afterEach(() => git.close());

const move = () => moveBranch(git.repository(), { branch: 'main', from, to });
const tip = () => git.git('rev-parse', 'main').trim();

describe('moveBranch', () => {
  it.each([
    ['nothing', []],
    ['branch.main.mergeOptions', ['branch.main.mergeOptions', '--squash']],
    ['branch.main.mergeOptions', ['branch.main.mergeOptions', '--no-commit --no-ff']],
    ['merge.autoStash', ['merge.autoStash', 'true']],
    ['merge.ff', ['merge.ff', 'false']],
  ])('moves a branch and keeps staged changes, with %s set', async (_, setting) => {
    if (setting.length > 0) git.git('config', ...setting);
    expect(await move()).toBeNull();
    expect({ tip: tip(), status: git.status }).toEqual({ tip: to, status: ['MM mine'] });
  });

  it('leaves branch, files and index as they were if a hook refuses the move', async () => {
    const hook = '#!/bin/sh\nif [ "$1" = prepared ] && grep -q refs/heads/main; then exit 1; fi\n';
    git.write('.git/hooks/reference-transaction', hook);
    chmodSync(git.path('.git/hooks/reference-transaction'), 0o755);
    const why = await move();
    expect(why).toMatch(/^nothing was merged: .*hook/);
    expect(why).not.toContain('move those files away');
    expect({ tip: tip(), status: git.status, new: existsSync(git.path('new')) }).toEqual({
      tip: from,
      status: ['MM mine'],
      new: false,
    });
  });

  it('does not move a branch over an untracked file', async () => {
    git.write('new/file', 'precious');
    expect(await move()).toMatch(/^nothing was merged: .*; move those files away first$/s);
    expect({ tip: tip(), status: git.status }).toEqual({ tip: from, status: ['MM mine', '?? new/file'] });
  });
});
