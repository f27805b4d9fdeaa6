import {
  chmodSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { Canaries } from '../../test/rig/hostile-repository.ts';
import { fingerprint } from './fingerprint.ts';
import { changesSince } from './changes.ts';
import { leftOutTrailers, takeCheckpoint } from './records.ts';
import { restoreFiles } from './restore.ts';
import { recordName, recordTree } from './refs.ts';
import { withTree, type SeenTree } from './tree.ts';
import type { Repository } from './git.ts';

const IT = { id: 'it-1a2b3c4d', name: 'it' };
const LIMIT = 2 ** 20;
let at: GitFolder;
let repository: Repository;
let canaries: Canaries;
beforeEach(() => {
  at = GitFolder.begun();
  canaries = new Canaries(join(at.folder, 'canaries'));
  repository = { ...at.repository(), maxFileBytes: LIMIT };
});
afterEach(() => at.close());

/** Creates a sparse file. */
const large = (name: string, size = 5 * 2 ** 30) => {
  writeFileSync(at.path(name), '');
  truncateSync(at.path(name), size);
};
/** Reports when git reads one of these files, by a filter. */
const reads = (...names: readonly string[]) => {
  at.write('.gitattributes', names.map((name) => `${name} filter=${name}\n`).join(''));
  for (const name of names) at.git('config', `filter.${name}.clean`, canaries.add(name, 'cat'));
};
const takes = (iteration: number) => takeCheckpoint(repository, IT, iteration, at.scratch);
const files = (name: number | string) => at.files(recordName(IT.id, String(name)));
const objects = () => Number(/^count: (\d+)$/m.exec(at.git('count-objects', '-v'))?.[1]);
const rewinds = (name: string) =>
  restoreFiles(repository, {
    to: at.git('rev-parse', recordName(IT.id, name)).trim(),
    scratch: at.scratch,
    keep: (tree) => recordTree(repository, { ref: recordName(IT.id, 'rewind-1'), tree, message: 'x' }),
    copies: { into: join(at.folder, 'into'), from: join(at.folder, 'from') },
  });

describe('an untracked file that is larger than the limit', () => {
  it('is left out of checkpoints, which name it once', async () => {
    at.write('b', '1');
    reads('more');
    large('data ü');
    const name = Buffer.from('data ü').toString('latin1');
    expect(await takes(1)).toMatchObject({ large: [name], fresh: [name] });
    large('more');
    expect(await takes(2)).toMatchObject({ large: [name, 'more'], fresh: ['more'] });
    const recorded = ['.gitattributes', 'a', 'b'];
    expect([files(1), files(2)]).toEqual([recorded, recorded]);
    expect(canaries.take()).toEqual([]);
    expect(at.git('log', '-1', '--format=%B', recordName(IT.id, '2'))).toContain(
      String.raw`Ralph-Left-Out: "data \u00c3\u00bc"`,
    );
  });

  it('is recorded if git tracks it, or once it is small enough', async () => {
    large('tracked', LIMIT + 1);
    at.git('add', 'tracked');
    large('data', LIMIT + 1);
    await takes(1);
    truncateSync(at.path('data'), LIMIT);
    expect(await takes(2)).toMatchObject({ large: [] });
    truncateSync(at.path('data'), LIMIT + 1);
    expect(await takes(3)).toMatchObject({ large: ['data'], fresh: ['data'] });
    expect([files(1), files(2), files(3)]).toEqual([
      ['a', 'tracked'],
      ['a', 'data', 'tracked'],
      ['a', 'tracked'],
    ]);
  });

  it('is never read by a fingerprint', async () => {
    large('data');
    const before = await fingerprint(at.repository());
    truncateSync(at.path('data'), 6 * 2 ** 30);
    expect(await fingerprint(at.repository())).not.toBe(before);
  });

  it('is left alone by a rewind, whether the record lacks it, has it smaller, or it is small by now', async () => {
    at.write('small', '1');
    large('big');
    await takes(1);
    at.write('a', '2');
    large('small');
    truncateSync(at.path('big'), 5);
    large('new');
    const restored = await rewinds('1');
    expect(restored.left.map(({ path }) => path).toSorted()).toEqual(['big', 'new', 'small']);
    expect(restored.files).toEqual([{ path: 'a', how: 'changed' }]);
    expect(readFileSync(at.path('a'), 'utf8')).toBe('1');
    expect(['small', 'big', 'new'].map((name) => statSync(at.path(name)).size)).toEqual([
      5 * 2 ** 30,
      5,
      5 * 2 ** 30,
    ]);
  });
});

describe('untracked files that are larger together than the limit', () => {
  const KB = 2 ** 10;
  beforeEach(() => {
    repository = { ...repository, maxTotalBytes: 5 * KB };
  });

  it('are recorded but for the largest, which checkpoints name once', async () => {
    for (const [name, size] of [
      ['one', 1],
      ['two', 2],
      ['three', 3],
      ['tracked', 9],
    ] as const)
      large(name, size * KB);
    at.git('add', 'tracked');
    expect(await takes(1)).toMatchObject({ large: ['three'], fresh: ['three'] });
    large('four', 4 * KB);
    expect(await takes(2)).toMatchObject({ large: ['four', 'three'], fresh: ['four'] });
    at.remove('two');
    at.remove('one');
    expect(await takes(3)).toMatchObject({ large: ['four'], fresh: [] });
    expect([files(1), files(2), files(3)]).toEqual([
      ['a', 'one', 'tracked', 'two'],
      ['a', 'one', 'tracked', 'two'],
      ['a', 'three', 'tracked'],
    ]);
  });

  it('are not read while they are left out', async () => {
    reads('data', 'more');
    large('data', 4 * KB);
    large('more', 2 * KB);
    await takes(1);
    expect(canaries.take()).toEqual(['more']);
    large('more', 5 * KB);
    expect(await takes(2)).toMatchObject({ large: ['more'] });
    expect(canaries.take()).not.toContain('more');
  });

  it('do not count as changes of the loop because there is room for them later', async () => {
    large('users', 4 * KB);
    large('notes', 3 * KB);
    const start = recordName(IT.id, 'start');
    const record = ({ tree, large: left }: SeenTree) =>
      recordTree(repository, { ref: start, tree, message: 'x', trailers: leftOutTrailers(left) });
    await withTree(repository, at.scratch, record);
    at.remove('notes');
    at.write('new', '1');
    const { tree, large: left } = await takes(1);
    expect(left).toEqual([]);
    expect((await changesSince(repository, { start, tree })).map(({ path }) => path)).toEqual(['new']);
  });
});

it('a record that takes long says what it records and how large that is', async () => {
  const go = at.path('.git/go');
  at.write('.gitattributes', 'data filter=slow\n');
  at.git('config', 'filter.slow.clean', `until [ -e '${go}' ]; do sleep 0.01; done; cat`);
  large('data', 300 * 2 ** 10);
  const said: string[] = [];
  const say = (line: string) => {
    said.push(line);
    writeFileSync(go, '');
  };
  repository = { ...repository, say };
  await takes(1);
  expect(said).toEqual([
    'recording 2 untracked files (300 KB); add those that need no checkpoint to .gitignore',
  ]);
});

describe('the index that checkpoints keep', () => {
  it('saves git from reading untracked files again', async () => {
    reads('data', 'later');
    at.write('data', '1');
    // Git reads files again that are as new as its index.
    utimesSync(at.path('data'), 1, 1);
    await takes(1);
    expect(canaries.take()).toEqual(['data']);
    at.write('later', '2');
    const before = objects();
    await takes(2);
    expect(canaries.take()).toEqual(['later']);
    // The new file, the tree and the commit.
    expect(objects() - before).toBe(3);
    at.git('add', 'later');
    // A change of the user's index makes a new copy.
    await takes(3);
    expect(canaries.take()).toContain('data');
  });

  it('gives the same tree as a new one, whatever has happened since', async () => {
    at.write('.gitignore', 'kept\n');
    at.write('kept', '1');
    at.git('add', '--force', '.gitignore', 'kept');
    const steps: readonly (() => void)[] = [
      () => at.write('new', '1'),
      () => at.write('new', '2'),
      () => at.write('.gitignore', 'kept\nnew\n'),
      () => at.remove('kept'),
      () => at.write('kept', '2'),
      () => at.git('add', '--force', 'new'),
      () => at.remove('new'),
      () => at.write('.ralph/settings.json', '{}'),
      () => at.git('add', '--force', '.ralph/settings.json'),
      () => at.write('d/e', '1'),
      () => {
        at.remove('d');
        at.write('d', '1');
      },
      () => {
        at.remove('d');
        at.write('d/e', '1');
      },
      () => at.write('.git/info/exclude', 'd\n'),
      () => at.write('.git/info/exclude', ''),
      () => chmodSync(at.path('d/e'), 0o755),
      () => {
        at.remove('d/e');
        symlinkSync('nowhere', at.path('d/e'));
      },
      () => at.write('d/f', '1'),
      () => truncateSync(at.path('d/f'), LIMIT + 1),
      () => truncateSync(at.path('d/f'), 5),
      () => truncateSync(at.path('d/f'), LIMIT + 1),
      () => at.remove('d/f'),
      () => renameSync(at.path('d'), at.path('e')),
      () => at.commits(),
      () => at.git('reset', '--quiet', 'HEAD^'),
      () => at.git('gc', '--quiet', '--prune=now'),
      () => {},
      () => at.git('checkout', '--quiet', '-b', 'other'),
      () => at.git('stash', '--quiet', '--include-untracked'),
      () => at.git('stash', 'pop', '--quiet'),
      () => at.git('init', '--quiet', 'nested'),
      () => at.git('-C', 'nested', 'commit', '--quiet', '--allow-empty', '--message', 'x'),
      () => at.write('nested/file', '1'),
      () => at.remove('nested'),
    ];
    for (const [index, step] of steps.entries()) {
      step();
      // oxlint-disable-next-line no-await-in-loop -- one after the other is the point
      await takes(index + 1);
      const fresh = { ...IT, id: 'other-00000000' };
      // oxlint-disable-next-line no-await-in-loop -- as above
      await takeCheckpoint(repository, fresh, index + 1, `${at.scratch}-${index}`);
      expect(at.files(recordName(fresh.id, String(index + 1)))).toEqual(files(index + 1));
      const tree = (id: string) => at.git('rev-parse', `${recordName(id, String(index + 1))}^{tree}`);
      expect(tree(IT.id)).toBe(tree(fresh.id));
    }
  });
});
