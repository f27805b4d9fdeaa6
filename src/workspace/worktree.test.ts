import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import type { Spec } from '../home/spec.ts';
import { addTree, keepBranch, removeBranch, removeTree, setTreeOwner } from '../git/worktree.ts';
import { discard, hasTree, isOwn, ownsBranch, worktreeStatus } from './worktree.ts';

let git: GitFolder;
let path: string;
const branch = 'ralph/it';
beforeEach(() => {
  git = GitFolder.begun();
  path = join(git.folder, 'trees', 'it');
});
afterEach(() => git.close());

/** A loop named `it` whose worktree is at `path` or elsewhere. */
const loop = (id: string, at = path): Spec => ({
  version: 1,
  id,
  name: 'it',
  workspace: git.work,
  created: '2026-01-01T00:00:00.000Z',
  agent: { kind: 'custom', argv: [] },
  prompt: { text: '' },
  worktree: { path: at, branch, from: 'main', folder: at },
  parent: null,
});
const make = async ({ id, name, workspace, worktree }: Spec): Promise<void> => {
  const at = worktree?.path ?? '';
  await addTree(git.repository(), { path: at, branch, at: 'HEAD' });
  await setTreeOwner(git.repository(), at, { id, name, workspace });
};
const look = async (spec: Spec) => [await worktreeStatus(spec, git.env), await ownsBranch(spec, git.env)];

describe('the worktree and the branch of a loop', () => {
  it('gives a worktree and its branch to one loop until they are removed, then to the next one', async () => {
    const [first, second] = [loop('it-1'), loop('it-2')];
    await make(first);
    expect([await look(first), await look(second)]).toEqual([
      ['own', true],
      ['none', false],
    ]);
    await removeTree(git.repository(), path);
    await removeBranch(git.repository(), branch);
    expect(await look(first)).toEqual(['none', false]);
    await make(second);
    expect([await look(first), await look(second)]).toEqual([
      ['none', false],
      ['own', true],
    ]);
  });

  it('keeps a branch that was there before, also after a worktree that was only half made', async () => {
    const [repository, first] = [git.repository(), loop('it-1')];
    git.git('branch', branch);
    await keepBranch(repository, branch);
    await addTree(repository, { path, branch, at: null });
    // No owner is noted yet.
    await discard(repository, { path, branch });
    expect(git.git('branch', '--list', branch).trim()).toBe(branch);

    await keepBranch(repository, branch);
    await addTree(repository, { path, branch, at: null });
    await setTreeOwner(repository, path, { id: first.id, name: 'it', workspace: git.work });
    expect(await look(first)).toEqual(['own', true]);
    await discard(repository, { path, branch });
    expect(git.git('branch', '--list', branch).trim()).toBe(branch);
    expect(await look(first)).toEqual(['none', false]);
    expect(await removeBranch(repository, branch)).toBe(true);
  });

  it('does not give a loop a worktree at another path, nor one of the user', async () => {
    const first = loop('it-1');
    await make(loop('it-2', join(git.folder, 'others', 'it')));
    expect(await look(first)).toEqual(['none', false]);
    git.git('worktree', 'remove', join(git.folder, 'others', 'it'));
    git.git('branch', '-D', branch);
    git.git('worktree', 'add', '--quiet', '-b', branch, path);
    expect(await look(first)).toEqual(['none', false]);
  });

  it('recognises a worktree whose folder is gone, was added again by hand, or lost its .git', async () => {
    const spec = loop('it-1');
    await make(spec);
    rmSync(path, { recursive: true });
    expect(await look(spec)).toEqual(['gone', true]);
    git.git('worktree', 'prune');
    expect(await look(spec)).toEqual(['none', true]);
    git.git('worktree', 'add', '--quiet', path, branch);
    expect(await look(spec)).toEqual(['own', true]);
    rmSync(join(path, '.git'));
    expect(await look(spec)).toEqual(['broken', true]);
    expect([await isOwn(spec, git.env), await hasTree(spec, git.env)]).toEqual([false, true]);
    rmSync(path, { recursive: true });
    mkdirSync(path);
    expect({ is: await look(spec), there: existsSync(path) }).toEqual({ is: ['broken', true], there: true });
  });
});
