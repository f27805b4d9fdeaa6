import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { addTree, setTreeOwner } from '../git/worktree.ts';
import { NOTHING_KNOWN } from '../loop/report.ts';
import type { LoopReading } from '../home/read-loop.ts';
import type { Spec } from '../home/spec.ts';
import { LoopFolder } from '../home/home.ts';
import { removeWorktree } from './remove-worktree.ts';

let git: GitFolder;
let path: string;
const branch = 'ralph/it';
beforeEach(async () => {
  git = GitFolder.begun();
  path = join(git.folder, 'trees', 'it');
  mkdirSync(join(git.folder, 'state'));
  vi.stubEnv('HOME', git.folder);
  vi.stubEnv('XDG_STATE_HOME', join(git.folder, 'state'));
  await addTree(git.repository(), { path, branch, at: 'HEAD' });
  await setTreeOwner(git.repository(), path, { id: 'it-1', name: 'it', workspace: git.work });
});
afterEach(() => {
  vi.unstubAllEnvs();
  git.close();
});

const loop = (worktree: Partial<Spec> = { worktree: { path, branch, from: 'main', folder: path } }) => ({
  folder: new LoopFolder({ id: 'it-1', name: 'it', workspace: git.work }),
  spec: {
    version: 1 as const,
    id: 'it-1',
    name: 'it',
    workspace: git.work,
    created: '2026-01-01T00:00:00.000Z',
    agent: { kind: 'custom' as const, argv: ['true'] },
    prompt: { text: '' },
    parent: null,
    ...worktree,
  },
  ...NOTHING_KNOWN,
  owner: null,
  read: { events: 0, bytes: 0 },
  trouble: null,
});
const remove = (force = false, reading: LoopReading = loop()) => removeWorktree(reading, force, git.env);
const exists = () => ({ folder: existsSync(path), branch: git.git('branch', '--list', branch) !== '' });

describe('removing a worktree', () => {
  it('removes the folder and the branch, once', async () => {
    expect(await remove()).toMatchObject({ lost: '' });
    expect(exists()).toEqual({ folder: false, branch: false });
    expect(await remove()).toBeNull();
  });

  it('refuses work that is saved nowhere else, unless it is forced', async () => {
    writeFileSync(join(path, 'new'), '1');
    await expect(remove()).rejects.toThrow(
      'has work that is saved nowhere else: 1 uncommitted change; keep it with: ralph worktree merge it, discard it with: ralph worktree rm it --force',
    );
    expect(exists()).toEqual({ folder: true, branch: true });
    expect(await remove(true)).toMatchObject({ lost: '1 uncommitted change' });
    expect(exists()).toEqual({ folder: false, branch: false });
  });

  it('refuses a folder that is no longer a valid worktree, unless it is forced', async () => {
    rmSync(join(path, '.git'));
    await expect(remove()).rejects.toThrow(`cannot inspect ${path}: it is no longer a valid git worktree`);
    expect(await remove(true)).toMatchObject({ lost: 'everything in the folder' });
    expect(exists()).toEqual({ folder: false, branch: false });
  });

  it('refuses a loop without a worktree', async () => {
    await expect(remove(false, loop({}))).rejects.toThrow('"it" has no worktree: it runs in the workspace');
  });
});
