import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { FileComparison, listTree, readObjects, type RecordedFile } from './recorded-files.ts';
import { restoreFiles } from './restore-files.ts';
import { writeTree } from './tree.ts';

let git: GitFolder;
let tree: string;
let files: readonly RecordedFile[];
beforeEach(async () => {
  git = GitFolder.begun();
  git.write('run.sh', 'run\n');
  chmodSync(git.path('run.sh'), 0o755);
  git.write('deep/er/b', 'b\n');
  git.write('odd \u001B[1m\nname', 'odd\n');
  symlinkSync('a', git.path('link'));
  tree = await writeTree(git.repository(), git.scratch);
  ({ files } = await listTree(git.repository(), tree));
});
afterEach(() => git.close());

const compared = (comparison = new FileComparison(git.work)): Readonly<Record<string, string>> =>
  Object.fromEntries(
    files
      .map((file): [string, string] => [file.path, comparison.compare(file)])
      .filter(([, how]) => how !== 'same'),
  );
const restored = async (...paths: readonly string[]): Promise<readonly (string | null | undefined)[]> => {
  const results = await restoreFiles(
    git.repository(),
    files.filter(({ path }) => paths.includes(path)),
  );
  return paths.map((path) => results.get(path));
};

describe('files of a tree', () => {
  it('are compared by content, mode and kind', () => {
    expect(compared()).toEqual({});
    git.write('a', 'other');
    chmodSync(git.path('run.sh'), 0o644);
    git.remove('link');
    git.write('link', 'a');
    rmSync(git.path('deep'), { recursive: true });
    git.write('odd \u001B[1m\nname', 'even\n');
    expect(compared()).toEqual({
      a: 'changed',
      'run.sh': 'changed',
      link: 'changed',
      'deep/er/b': 'gone',
      'odd \u001B[1m\nname': 'changed',
    });
  });

  it('are the same with the line ends of another system, and if they were only touched', () => {
    git.write('run.sh', 'run\r\n');
    utimesSync(git.path('a'), 1, 1);
    expect(compared()).toEqual({});
  });

  it('are never taken for unchanged because of an old time or the same size', () => {
    const comparison = new FileComparison(git.work);
    const { atime, mtime } = statSync(git.path('a'));
    expect(compared(comparison)).toEqual({});
    writeFileSync(git.path('a'), '2');
    utimesSync(git.path('a'), atime, mtime);
    expect(compared(comparison)).toEqual({ a: 'changed' });
  });

  it('that became a pipe do not block', () => {
    git.remove('a');
    execFileSync('mkfifo', [git.path('a')]);
    expect(compared()).toEqual({ a: 'changed' });
  });

  it('are not read from an object that is not what its id says', async () => {
    const object = files.find(({ path }) => path === 'a')?.object ?? '';
    expect((await readObjects(git.repository(), [object, '0'.repeat(40)])).get(object)?.toString()).toBe('1');
    const other = git.git('hash-object', '-w', 'run.sh').trim();
    const place = (id: string): string => git.path(`.git/objects/${id.slice(0, 2)}/${id.slice(2)}`);
    chmodSync(place(object), 0o644);
    writeFileSync(place(object), readFileSync(place(other)));
    expect((await readObjects(git.repository(), [object])).size).toBe(0);
    git.write('a', 'changed');
    expect(await restored('a')).toEqual(["git no longer has the file's content"]);
  });
});

describe('a restore of files', () => {
  it('brings back contents, modes, links, folders and odd names, and keeps hard links to the changed file', async () => {
    linkSync(git.path('a'), git.path('hard'));
    writeFileSync(git.path('a'), 'changed');
    chmodSync(git.path('run.sh'), 0o644);
    git.remove('link');
    rmSync(git.path('deep'), { recursive: true });
    git.remove('odd \u001B[1m\nname');
    const names = files.map(({ path }) => path);
    expect(await restored(...names)).toEqual(names.map(() => null));
    expect(compared()).toEqual({});
    expect(readlinkSync(git.path('link'))).toBe('a');
    expect(readFileSync(git.path('hard'), 'utf8')).toBe('changed');
    expect(readdirSync(git.work).filter((name) => name.startsWith('.ralph'))).toEqual([]);
  });

  it('replaces symbolic links in the place of folders and files, and leaves what they point to', async () => {
    const outside = join(dirname(git.work), 'outside');
    mkdirSync(join(outside, 'er'), { recursive: true });
    writeFileSync(join(outside, 'er', 'b'), 'mine');
    writeFileSync(join(outside, 'a'), 'mine');
    rmSync(git.path('deep'), { recursive: true });
    symlinkSync(outside, git.path('deep'));
    git.remove('a');
    symlinkSync(join(outside, 'a'), git.path('a'));
    expect(await restored('deep/er/b', 'a')).toEqual([null, null]);
    expect(compared()).toEqual({});
    expect(lstatSync(git.path('deep')).isDirectory()).toBe(true);
    expect(readFileSync(join(outside, 'er', 'b'), 'utf8')).toBe('mine');
    expect(readFileSync(join(outside, 'a'), 'utf8')).toBe('mine');
  });

  it('says what is in the way and keeps it', async () => {
    git.remove('a');
    git.write('a/kept', 'kept');
    rmSync(git.path('deep'), { recursive: true });
    git.write('deep', 'a file');
    expect(await restored('a', 'deep/er/b')).toEqual([
      'a is now a folder with files in it',
      'deep is no folder any more',
    ]);
    expect(readFileSync(git.path('a/kept'), 'utf8')).toBe('kept');
    expect(readFileSync(git.path('deep'), 'utf8')).toBe('a file');
  });

  it('refuses a path that leads out of the working tree', async () => {
    const object = files[0]?.object ?? '';
    const evil = ['../x', '.git/config', 'deep/../../x'].map((path) => ({ path, mode: '100644', object }));
    const results = await restoreFiles(git.repository(), evil);
    expect([...results.values()]).toEqual(evil.map(() => 'its path leads out of the working tree'));
  });
});
