import {
  chmodSync,
  existsSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { RestoreError } from './git-error.ts';
import { restoreFiles } from './restore.ts';
import { recordTree } from './refs.ts';
import { writeTree } from './tree.ts';

let at: GitFolder;
beforeEach(() => {
  at = new GitFolder();
});
afterEach(() => at.close());

const KEPT = 'refs/ralph/it/rewind-1';
const records = async (name: string, folder?: string) => {
  const tree = await writeTree(at.repository(folder), at.scratch);
  return recordTree(at.repository(folder), { ref: `refs/ralph/it/${name}`, tree, message: name });
};
const restores = (to: string, folder?: string) => {
  const kept = to === 'rewind-1' ? 'rewind-2' : 'rewind-1';
  return restoreFiles(at.repository(folder), {
    to: `refs/ralph/it/${to}`,
    scratch: at.scratch,
    keep: (tree) =>
      recordTree(at.repository(folder), { ref: `refs/ralph/it/${kept}`, tree, message: 'kept' }),
    copies: { into: `${at.scratch}-of-${kept}`, from: `${at.scratch}-of-${to}` },
  });
};
const troubleWith = async (to: string) => {
  const trouble: unknown = await restores(to).catch((error: unknown) => error);
  if (!(trouble instanceof RestoreError)) throw new Error('it should have failed');
  return trouble;
};
const text = (name: string) => readFileSync(at.path(name), 'utf8');
const untouched = () => [
  at.git('rev-parse', 'HEAD'),
  at.git('symbolic-ref', 'HEAD'),
  at.git('ls-files', '--stage'),
];

describe('restoring the files of a record', () => {
  it('restores changed, removed and renamed files, removes new ones, and can be undone', async () => {
    for (const name of ['changed', 'gone', 'old', 'deep/er/file', 'run']) at.write(name, `${name}\n`);
    at.commits();
    at.write('changed', 'dirty\n');
    at.write('untracked "ü"\n?', '1\n');
    chmodSync(at.path('run'), 0o755);
    symlinkSync('changed', at.path('link'));
    writeFileSync(at.path('binary'), Buffer.from([0, 255]));
    at.write('staged', '1\n');
    at.git('add', 'staged');
    await records('1');
    const before = [at.status, ...untouched()];
    at.write('changed', 'by the loop\n');
    at.remove('gone');
    at.remove('deep');
    at.write('deep', 'a file where a folder was\n');
    at.remove('link');
    at.write('link/is/a/folder', '1\n');
    chmodSync(at.path('run'), 0o644);
    at.remove('untracked "ü"\n?');
    at.write('new/in/folders', '1\n');
    at.write('binary', 'text\n');
    const { change, repositories } = await restores('1');
    expect(change).toMatch(/^\d+ files changed, \d+ insertions\(\+\), \d+ deletions\(-\)$/);
    expect(repositories).toEqual([]);
    expect([at.status, ...untouched()]).toEqual(before);
    expect([text('changed'), text('gone'), text('deep/er/file'), text('untracked "ü"\n?')]).toEqual([
      'dirty\n',
      'gone\n',
      'deep/er/file\n',
      '1\n',
    ]);
    expect(statSync(at.path('run')).mode & 0o111).not.toBe(0);
    expect(readlinkSync(at.path('link'))).toBe('changed');
    expect([...readFileSync(at.path('binary'))]).toEqual([0, 255]);
    expect(existsSync(at.path('new'))).toBe(false);
    await restores('rewind-1');
    expect([text('changed'), text('deep'), text('link/is/a/folder'), text('new/in/folders')]).toEqual([
      'by the loop\n',
      'a file where a folder was\n',
      '1\n',
      '1\n',
    ]);
    expect(existsSync(at.path('gone'))).toBe(false);
  });

  it('does nothing if nothing has changed', async () => {
    at.write('a', '1');
    await records('1');
    expect(await restores('1')).toMatchObject({ change: null, files: [], repositories: [] });
    expect(at.git('for-each-ref', KEPT)).toBe('');
  });

  it('works without any commit, and with an empty record', async () => {
    await records('start');
    at.write('a/b', '1');
    at.write('c', '1');
    await restores('start');
    expect([existsSync(at.path('a')), existsSync(at.path('c'))]).toEqual([false, false]);
    await restores('rewind-1');
    expect([text('a/b'), text('c')]).toEqual(['1', '1']);
  });

  it('leaves ignored files and .ralph', async () => {
    at.write('.gitignore', 'ignored/\n');
    at.write('a', '1');
    await records('1');
    at.write('a', '2');
    at.write('ignored/x', 'x');
    at.write('.ralph/loops/it/journal', 'x');
    at.write('deep/.ralph/x', 'x');
    at.write('deep/new', 'x');
    await restores('1');
    expect([text('a'), text('ignored/x'), text('.ralph/loops/it/journal'), text('deep/.ralph/x')]).toEqual([
      '1',
      'x',
      'x',
      'x',
    ]);
    expect(existsSync(at.path('deep/new'))).toBe(false);
  });

  it('restores a file that git ignores now, and keeps its current content', async () => {
    at.write('build/out', 'first');
    at.write('config', 'first');
    await records('1');
    at.write('.gitignore', 'build/\nconfig\n');
    at.write('build/out', 'second');
    at.write('build/more', 'stays');
    at.write('config', 'second');
    await restores('1');
    expect([text('build/out'), text('config'), text('build/more')]).toEqual(['first', 'first', 'stays']);
    expect(existsSync(at.path('.gitignore'))).toBe(false);
    await restores('rewind-1');
    expect([text('build/out'), text('config'), text('.gitignore')]).toEqual([
      'second',
      'second',
      'build/\nconfig\n',
    ]);
  });

  it('leaves ignored files in both directions, even if .gitignore itself appears or disappears', async () => {
    at.write('a', '1');
    at.write('sub/a', '1');
    await records('1', 'sub');
    at.write('sub/.gitignore', 'modules/\n');
    at.write('sub/modules/x', 'x');
    at.write('sub/new', '1');
    await restores('1', 'sub');
    expect([existsSync(at.path('sub/new')), text('sub/modules/x')]).toEqual([false, 'x']);
    await restores('rewind-1', 'sub');
    expect([text('sub/new'), text('sub/modules/x'), text('sub/.gitignore')]).toEqual([
      '1',
      'x',
      'modules/\n',
    ]);
  });

  it('leaves an ignored file even if the index has a folder of that name', async () => {
    at.write('.gitignore', '');
    await records('1');
    at.write('a/b', '1');
    at.git('add', '--all');
    at.remove('a');
    at.write('a', 'ignored');
    at.write('.gitignore', '/a\n');
    await restores('1');
    await restores('rewind-1');
    expect(text('a')).toBe('ignored');
  });

  it('changes nothing if an ignored folder is in the way', async () => {
    at.write('a', 'file');
    at.write('b', '1');
    await records('1');
    at.remove('a');
    at.write('.gitignore', 'a/\n');
    at.write('a/precious', 'x');
    at.write('b', '2');
    const trouble = await troubleWith('1');
    expect([trouble.isUntouched, trouble.message]).toEqual([
      true,
      'a is now a folder with files that git ignores (a/precious); move it out of the way',
    ]);
    expect([text('a/precious'), text('b')]).toEqual(['x', '2']);
  });

  it('records an ignored file or link that is in the way', async () => {
    at.write('a/b', '1');
    at.write('c/d', '1');
    await records('1');
    at.remove('a');
    at.remove('c');
    at.write('.gitignore', 'a\nc\n');
    at.write('a', 'precious');
    at.write('elsewhere/d', 'precious');
    symlinkSync('elsewhere', at.path('c'));
    await restores('1');
    expect([text('a/b'), text('c/d')]).toEqual(['1', '1']);
    await restores('rewind-1');
    expect([text('a'), readlinkSync(at.path('c')), text('elsewhere/d')]).toEqual([
      'precious',
      'elsewhere',
      'precious',
    ]);
  });

  it('reports a failure in the middle, which can be undone', async () => {
    at.git('config', 'filter.bad.clean', 'cat');
    at.git('config', 'filter.bad.smudge', 'cat');
    at.git('config', 'filter.bad.required', 'true');
    at.write('.gitattributes', 'm filter=bad\n');
    for (const name of ['a', 'm', 'z']) at.write(name, '1');
    await records('1');
    for (const name of ['a', 'm', 'z']) at.write(name, '2');
    at.git('config', 'filter.bad.smudge', 'false');
    const trouble = await troubleWith('1');
    expect(trouble.isUntouched).toBe(false);
    expect(trouble.message).toContain('m: smudge filter bad failed');
    expect(text('a')).toBe('1');
    at.git('config', 'filter.bad.smudge', 'cat');
    await restores('rewind-1');
    expect([text('a'), text('m'), text('z')]).toEqual(['2', '2', '2']);
  });

  it('leaves everything outside of the workspace in a larger repository', async () => {
    at.write('s u b/a', '1');
    at.write('other', '1');
    at.commits();
    await records('1', 's u b');
    at.write('s u b/a', '2');
    at.write('s u b/new', '2');
    at.write('other', '2');
    at.commits('both');
    at.write('top', '3');
    await restores('1', 's u b');
    expect([text('s u b/a'), text('other'), text('top')]).toEqual(['1', '2', '3']);
    expect(existsSync(at.path('s u b/new'))).toBe(false);
    await restores('rewind-1', 's u b');
    expect([text('s u b/a'), text('s u b/new')]).toEqual(['2', '2']);
  });

  it('leaves a nested repository alone and reports it', async () => {
    at.write('a', '1');
    await records('1');
    at.write('a', '2');
    at.git('init', '--quiet', 'nested');
    at.git('-C', 'nested', 'commit', '--quiet', '--allow-empty', '--message', 'x');
    at.write('nested/file', 'x');
    expect(await restores('1')).toMatchObject({ repositories: ['nested'] });
    expect([text('a'), text('nested/file')]).toEqual(['1', 'x']);
    expect(lstatSync(at.path('nested/.git')).isDirectory()).toBe(true);
  });

  it('leaves submodules alone whatever the settings say, including new ones', async () => {
    const other = join(at.folder, 'other');
    const git = (...args: readonly string[]) => at.git('-c', 'protocol.file.allow=always', ...args);
    at.git('init', '--quiet', '--initial-branch=main', other);
    writeFileSync(join(other, 'file'), '1');
    at.git('-C', other, 'add', '.');
    at.git('-C', other, 'commit', '--quiet', '--message', 'x');
    git('submodule', '--quiet', 'add', other, 'old');
    at.commits();
    at.git('config', 'submodule.recurse', 'true');
    await records('1');
    at.git('-C', 'old', 'switch', '--quiet', '--create', 'topic');
    at.git('-C', 'old', 'commit', '--quiet', '--allow-empty', '--message', 'topic');
    git('submodule', '--quiet', 'add', other, 'new');
    at.write('a', '1');
    const heads = () => ['old', 'new'].map((name) => at.git('-C', name, 'log', '--decorate', '--oneline'));
    const before = heads();
    expect(await restores('1')).toMatchObject({ repositories: ['new', 'old'] });
    expect([heads(), text('new/file'), existsSync(at.path('a'))]).toEqual([before, '1', false]);
    await restores('rewind-1');
    expect([heads(), text('new/file'), text('a')]).toEqual([before, '1', '1']);
  });

  it('restores files outside of a sparse checkout, and leaves the others hidden', async () => {
    for (const name of ['src/f', 'docs/f', 'docs/same', 'sub/f']) at.write(name, '1');
    at.commits();
    await records('1');
    at.write('docs/f', '2');
    at.write('docs/new', '2');
    at.commits('two');
    at.git('sparse-checkout', 'set', 'src');
    at.write('docs/loose', '2');
    const index = at.git('ls-files', '-t', '--stage');
    expect((await restores('1')).change).toMatch(/^3 files changed/);
    expect([text('docs/f'), existsSync(at.path('docs/loose'))]).toEqual(['1', false]);
    await restores('rewind-1');
    expect([text('docs/f'), text('docs/loose')]).toEqual(['2', '2']);
    expect(['docs/same', 'docs/new'].some((name) => existsSync(at.path(name)))).toBe(false);
    expect(at.git('ls-files', '--stage')).toBe(index.replaceAll(/^[A-Z] /gm, ''));
    // A hidden file cannot be removed.
    at.git('rm', '--quiet', '--cached', '--sparse', 'docs/same');
    await records('without');
    at.git('reset', '--quiet', '--', 'docs/same');
    expect((await restores('without')).change).toBe(null);
    // Only one folder of the repository.
    await records('2', 'docs');
    at.write('docs/f', '3');
    await restores('2', 'docs');
    expect(text('docs/f')).toBe('2');
  });
});
