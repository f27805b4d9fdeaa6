import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, renameSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { Canaries } from '../../test/rig/hostile-repository.ts';
import { guardDiff, diffSince } from './diff.ts';
import { fingerprint } from './fingerprint.ts';
import { execGit } from './git.ts';
import { indexFile } from './index-file.ts';
import { recordTree } from './refs.ts';
import { copyIndex, writeTree } from './tree.ts';

let at: GitFolder;
let canaries: Canaries;
beforeEach(() => {
  at = GitFolder.begun();
  canaries = new Canaries(join(at.folder, 'canaries'));
});
afterEach(() => at.close());

it('does not fetch a missing object of a partial clone, which would run programs of the configuration', async () => {
  at.write('lost', 'a line\n'.repeat(20));
  at.commits();
  const blob = at.git('rev-parse', 'HEAD:lost').trim();
  for (const [key, value] of [
    ['extensions.partialClone', 'origin'],
    ['remote.origin.promisor', 'true'],
    ['remote.origin.url', at.work],
    ['remote.origin.uploadpack', canaries.add('uploadpack')],
  ] as const)
    at.git('config', key, value);
  const tree = await writeTree(at.repository(), at.scratch);
  await recordTree(at.repository(), { ref: 'refs/ralph/it/start', tree, message: 'start' });
  const file = at.path(`.git/objects/${blob.slice(0, 2)}/${blob.slice(2)}`);
  chmodSync(file, 0o600);
  rmSync(file);
  at.remove('lost');
  at.write('moved', 'a line\n'.repeat(19));
  // A search for renames needs the missing object.
  await diffSince(at.repository(), 'refs/ralph/it/start', { scratch: at.scratch, bytes: 1000 });
  expect(canaries.take()).toEqual([]);
});

it('runs the filters of the repository itself, and no filter of a repository inside of it', async () => {
  at.write('.gitattributes', 'a filter=own\n');
  at.git('config', 'filter.own.clean', canaries.add('own', 'cat'));
  const inner = at.path('inner');
  mkdirSync(inner);
  at.git('-C', inner, 'init', '--quiet');
  at.write('inner/b', '1');
  at.git('-C', inner, 'add', 'b');
  at.git('-C', inner, 'commit', '--quiet', '-m', 'b');
  at.git('-c', 'advice.addEmbeddedRepo=false', 'add', 'inner');
  at.write('inner/.gitattributes', '* filter=own\nc filter=new\n');
  // The nested repository gives another meaning to a filter of the outer one.
  for (const name of ['own', 'new'])
    at.git('-C', inner, 'config', `filter.${name}.clean`, canaries.add('inner'));
  at.write('inner/b', '2');
  at.write('inner/c', '2');
  at.write('a', '2');
  // A file as old as the index is read once more, by commands that would hide that `git add` did not filter it.
  utimesSync(at.path('a'), 1, 1);
  canaries.take();
  await writeTree(at.repository(), at.scratch);
  expect(canaries.take()).toEqual(['own']);
  const before = await fingerprint(at.repository());
  at.write('inner/b', '3');
  expect(await fingerprint(at.repository())).not.toBe(before);
  expect(canaries.take()).not.toContain('inner');
});

it('guards a diff on a terminal from programs that the repository names, and lets those of the user run', async () => {
  expect(await guardDiff(at.repository())).toEqual({ options: [], env: {} });
  at.write('../.gitconfig', '[core]\n\tpager = delta\n[diff]\n\texternal = difft\n');
  const env = { ...at.env, GIT_CONFIG_GLOBAL: join(at.folder, '.gitconfig') };
  const guard = () => guardDiff({ ...at.repository(), env });
  expect(await guard()).toEqual({ options: [], env: {} });
  at.git('config', 'core.pager', 'evil');
  at.git('config', 'diff.x.textconv', 'evil');
  expect(await guard()).toEqual({ options: ['--no-textconv'], env: { GIT_PAGER: 'delta' } });
  at.git('config', 'diff.x.command', 'evil');
  expect(await guard()).toEqual({ options: ['--no-ext-diff', '--no-textconv'], env: { GIT_PAGER: 'delta' } });
});

it('does not take the workspace itself for a bare repository when the agent has removed .git/HEAD', async () => {
  renameSync(at.path('.git/HEAD'), at.path('HEAD'));
  for (const name of ['objects', 'refs']) cpSync(at.path(`.git/${name}`), at.path(name), { recursive: true });
  at.write(
    'config',
    `[core]\nbare = false\nworktree = ${at.work}\n[filter "x"]\nclean = ${canaries.add('bare')}\n`,
  );
  at.write('.gitattributes', '* filter=x\n');
  const asked = (['ralph', 'user'] as const).map((as) =>
    execGit(at.repository(), ['add', '--all'], {}, { as }),
  );
  expect((await Promise.all(asked)).map(({ code }) => code)).toEqual([128, 128]);
  expect(canaries.take()).toEqual([]);
});

it.each(['mkfifo', 'ln -s a'])(
  'neither waits for what is in the place of the index nor follows it: %s',
  async (put) => {
    at.remove('.git/index');
    execFileSync('sh', ['-c', `${put} "$0"`, at.path('.git/index')]);
    expect(await indexFile(at.repository())).toBeNull();
    await expect(copyIndex(at.repository(), at.scratch)).rejects.toThrow('it is no regular file');
    expect(existsSync(at.scratch)).toBe(false);
  },
);
