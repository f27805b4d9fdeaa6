import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { exec, type Execution } from '../process/exec.ts';
import { wrappedShort } from '../process/sandboxed.ts';
import { loopsFolder } from '../home/home.ts';
import { onDisk } from '../../test/rig/temporary-folder.ts';
import { gitPlaces } from './git-places.ts';
import { enclosing, noteSandbox } from './git-view.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(onDisk(), 'ralph-git-view-')));
  vi.stubEnv('RALPH_STATE', join(root, 'state'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true, force: true });
});

it.each(['plain', 'Jürgen'])(
  'git has a view in every worktree of a repository that a sandboxed loop can write: %s',
  { tags: ['bwrap'] },
  async (name) => {
    const [tree, other, stranger] = [join(root, name), join(root, 'other'), join(root, 'stranger')];
    const env = { PATH: process.env['PATH'] ?? '', HOME: root, GIT_CONFIG_GLOBAL: '/dev/null' };
    const git = (...args: readonly string[]) => execFileSync('git', args, { env });
    for (const folder of [tree, stranger]) git('init', '-q', folder);
    git(
      '-C',
      tree,
      '-c',
      'user.name=t',
      '-c',
      'user.email=t@t',
      'commit',
      '-q',
      '--allow-empty',
      '-m',
      'begin',
    );
    git('-C', tree, 'worktree', 'add', '-q', '--detach', other);
    const at = (folder: string) => ({ command: ['git'] as const, folder, env, enclose: null });
    const policy = { checks: false, write: [], hide: [], network: true };
    noteSandbox({ id: 'it', policy, trees: [tree, ...(await gitPlaces(at(tree))).gitFolders] });
    mkdirSync(join(loopsFolder(), 'it'), { recursive: true });

    const viewIn = (folder: string) => enclosing(null)(at(folder), null);
    expect(await viewIn(other)).not.toBeNull();
    expect(await viewIn(stranger)).toBeNull();
  },
);

it('nothing runs in a view of which a folder became a link', { tags: ['bwrap'] }, async () => {
  const env = { PATH: process.env['PATH'] ?? '', HOME: root, GIT_CONFIG_GLOBAL: '/dev/null' };
  const [tree, scratch, victim] = [join(root, 'tree'), join(root, 'tree/a b\\c'), join(root, 'victim')];
  execFileSync('git', ['init', '-q', tree], { env });
  for (const folder of [scratch, victim, join(loopsFolder(), 'it')]) mkdirSync(folder, { recursive: true });
  const policy = { checks: false, write: [], hide: [], network: true };
  noteSandbox({ id: 'it', policy, trees: [tree] });
  const view = await enclosing(null)({ folder: tree, env }, scratch);
  const touch = (): Promise<Execution | null> =>
    exec(wrappedShort(view?.wrapper ?? { kind: 'prefix', command: [] }, ['touch', join(scratch, 'made')]), {
      cwd: tree,
      env,
    });
  expect(await touch()).toMatchObject({ code: 0, stderr: '' });
  rmSync(scratch, { recursive: true });
  symlinkSync('../victim', scratch);
  const answer = await touch();
  expect(answer?.stderr).toContain('another process has moved a folder of the sandbox');
  expect(answer?.code).toBe(126);
  expect(readdirSync(victim)).toEqual([]);
});
