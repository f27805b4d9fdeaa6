import { execFileSync } from 'node:child_process';
import { mkdtempSync, mkdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fingerprint, isChangedBeside, stateOf } from './fingerprint.ts';

let folder: string;
const env = {
  PATH: process.env['PATH'] ?? '',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@b',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@b',
};
const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, env, stdio: 'ignore' });
const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
const now = () => fingerprint({ folder, env, enclose: null });
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-git-')));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the fingerprint of a repository', () => {
  beforeEach(() => git('init', '--quiet'));

  it('changes with every change and stays the same without one', async () => {
    write('a', '1');
    const seen = [await now()];
    expect(await now()).toBe(seen[0]);
    const changes: (() => void)[] = [
      () => write('a', '2'),
      () => git('add', 'a'),
      () => git('commit', '--quiet', '-m', 'a'),
      () => write('a', '3'),
      // Same length, in a file that was already changed.
      () => write('a', '4'),
      () => write('ü and blanks', '1'),
      () => write('ü and blanks', '2'),
      () => renameSync(join(folder, 'a'), join(folder, 'b')),
      () => git('add', '-A'),
    ];
    for (const change of changes) {
      change();
      // oxlint-disable-next-line no-await-in-loop -- one after the other is the point
      seen.push(await now());
    }
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('is the same after a change is reverted', async () => {
    write('a', '1');
    const before = await now();
    write('a', '2');
    write('a', '1');
    expect(await now()).toBe(before);
  });

  it('is the same for a commit that restores earlier files', async () => {
    write('a', '1');
    git('add', 'a');
    git('commit', '--quiet', '-m', 'one');
    const before = await now();
    write('a', '2');
    git('commit', '--quiet', '-am', 'two');
    expect(await now()).not.toBe(before);
    write('a', '1');
    git('commit', '--quiet', '-am', 'three');
    expect(await now()).toBe(before);
  });

  it('sees changes inside of a repository in this one, by their content', async () => {
    mkdirSync(join(folder, 'inner'));
    git('init', '--quiet', 'inner');
    write('inner/a', '1');
    const before = await now();
    write('inner/a', '2');
    expect(await now()).not.toBe(before);
    write('inner/b', '');
    write('inner/a', '1');
    rmSync(join(folder, 'inner', 'b'));
    expect(await now()).toBe(before);
  });

  it('ignores what git ignores', async () => {
    const before = await now();
    mkdirSync(join(folder, '.ralph'));
    write('.ralph/.gitignore', '*\n!settings.json\n');
    write('.ralph/settings.json', '{}');
    write('.ralph/journal', 'x');
    expect(await now()).toBe(before);
  });
});

it('fingerprint is null outside of a repository', async () => {
  expect(await now()).toBeNull();
});

describe('what changed beside one file', () => {
  const repository = () => ({ command: ['git'] as const, folder, env, enclose: null });
  const state = async () => (await stateOf(repository(), 'plans/[a].md')) ?? { head: '', changes: '' };
  const changedBy = async (change: () => void): Promise<boolean | null> => {
    const before = await state();
    change();
    return isChangedBeside(repository(), 'plans/[a].md', before, await state());
  };
  beforeEach(() => {
    git('init', '--quiet');
    mkdirSync(join(folder, 'plans'));
    write('plans/[a].md', '1');
    write('other', '1');
    git('add', '.');
    git('commit', '--quiet', '-m', 'begin');
  });

  it('is nothing if only that file was changed, committed or removed', async () => {
    expect(await changedBy(() => write('plans/[a].md', '2'))).toBe(false);
    expect(await changedBy(() => git('commit', '--quiet', '-a', '-m', 'plan'))).toBe(false);
    expect(await changedBy(() => rmSync(join(folder, 'plans/[a].md')))).toBe(false);
  });

  it('is every other change, committed or not', async () => {
    expect(await changedBy(() => write('plans/a.md', '1'))).toBe(true);
    expect(await changedBy(() => write('other', '2'))).toBe(true);
    expect(
      await changedBy(() => {
        write('plans/[a].md', '3');
        write('new', '1');
        git('add', '.');
        git('commit', '--quiet', '-m', 'work');
      }),
    ).toBe(true);
    expect(
      await changedBy(() => {
        write('other', '3');
        git('commit', '--quiet', '-a', '-m', 'work');
      }),
    ).toBe(true);
  });
});
