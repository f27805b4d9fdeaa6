import { randomBytes } from 'node:crypto';
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { diffSince } from './diff.ts';
import {
  lastOf,
  listRecords,
  nameBefore,
  nextRewind,
  removeRecords,
  sizeOfRecords,
  takeCheckpoint,
  thinRecords,
} from './records.ts';
import { recordName, recordTree } from './refs.ts';
import { fingerprintOfSeen, seeTree } from './seen-tree.ts';
import { writeTree } from './tree.ts';

const IT = { id: 'it-1a2b3c4d', name: 'it' };
let at: GitFolder;
beforeEach(() => {
  at = new GitFolder();
});
afterEach(() => at.close());

const recordStart = async (folder?: string) => {
  const repository = at.repository(folder);
  const tree = await writeTree(repository, at.scratch);
  return recordTree(repository, { ref: recordName(IT.id, 'start'), tree, message: 'start' });
};
const takes = (iteration: number, folder?: string) =>
  takeCheckpoint(at.repository(folder), IT, iteration, at.scratch);
const records = async () => [...(await listRecords(at.repository(), IT.id)).keys()];
const diff = async (bytes = 100_000, folder?: string) => {
  const text = await diffSince(at.repository(folder), recordName(IT.id, 'start'), {
    scratch: at.scratch,
    bytes,
  });
  return text.toString('utf8');
};

describe('a checkpoint', () => {
  it('records the whole tree and its iteration on top of the previous record', async () => {
    at.write('a', '1');
    at.commits();
    at.write('a', 'dirty');
    at.write('.gitignore', 'ignored\n');
    at.write('ignored', 'x');
    const before = [at.status, at.git('rev-parse', 'HEAD'), at.git('ls-files', '--stage', '--debug')];
    await recordStart();
    at.write('b', '1');
    expect(await takes(1)).toMatchObject({ ref: 'refs/ralph/it-1a2b3c4d/1', unread: [] });
    at.write('c', '1');
    await takes(2);
    expect(at.files('refs/ralph/it-1a2b3c4d/2')).toEqual(['.gitignore', 'a', 'b', 'c']);
    const log = at.git(
      'log',
      '--format=%s|%(trailers:key=Ralph-Iteration,valueonly,separator=%x2C)|%(trailers:key=Ralph-Loop,valueonly,separator=%x2C)',
      'refs/ralph/it-1a2b3c4d/2',
    );
    expect(log.split('\n').slice(0, -1)).toEqual([
      'ralph: it, iteration 2|2|it',
      'ralph: it, iteration 1|1|it',
      'start||',
      'begin||',
    ]);
    at.remove('b');
    at.remove('c');
    expect([at.status, at.git('rev-parse', 'HEAD'), at.git('ls-files', '--stage', '--debug')]).toEqual(
      before,
    );
  });

  it('replaces the record when it is taken again, and follows the last one if some are missing', async () => {
    at.commits();
    await recordStart();
    await takes(1);
    at.write('a', '1');
    await takes(4);
    at.write('a', '2');
    await takes(4);
    expect(await records()).toEqual(['start', '1', '4']);
    expect(at.git('rev-parse', `${recordName(IT.id, '4')}^`)).toBe(
      at.git('rev-parse', recordName(IT.id, '1')),
    );
    expect(at.git('show', `${recordName(IT.id, '4')}:a`)).toBe('2');
  });

  it('of a tree that was committed since is that commit, unless it cannot say what it lacks', async () => {
    const repository = { ...at.repository(), maxFileBytes: 1000 };
    const checkpoint = (iteration: number) => takeCheckpoint(repository, IT, iteration, at.scratch);
    at.commits();
    await recordStart();
    at.write('a', '1');
    at.commits('Add a');
    const committed = await checkpoint(1);
    const shown = (iteration: number) => at.git('rev-parse', recordName(IT.id, String(iteration)));
    expect(shown(1)).toBe(at.git('rev-parse', 'HEAD'));
    expect(committed.head).toBe(committed.tree);
    at.write('a', '2');
    at.commits('Change a');
    at.write('large', 'x'.repeat(2000));
    await checkpoint(2);
    expect(at.git('log', '-1', '--format=%P%n%s', recordName(IT.id, '2'))).toBe(
      `${shown(1)}ralph: it, iteration 2\n`,
    );
  });

  it.each([
    { when: 'with changes', content: '2' },
    { when: 'without changes', content: '1' },
  ])('keeps what a look saw $when if an agent commits before it is recorded', async ({ content }) => {
    const repository = at.repository();
    at.write('a', '1');
    at.commits();
    await recordStart();
    at.write('a', content);
    const seen = await seeTree(repository, at.scratch);
    at.write('late', '1');
    at.commits('Add late');
    const recorded = await takeCheckpoint(repository, IT, 1, seen);
    const parsed = (revision: string) => at.git('rev-parse', revision).trim();
    expect(parsed(`${recorded.ref}^{tree}`)).toBe(seen.tree);
    expect(parsed(`${recorded.ref}^`)).toBe(parsed(recordName(IT.id, 'start')));
    const next = await takes(2);
    expect(parsed(next.ref)).toBe(parsed('HEAD'));
    const [before, after] = [recorded, next].map((one) => fingerprintOfSeen(repository, one));
    expect(await after).not.toBe(await before);
  });

  it('works without any commit, during a merge, and after the agent switched branches', async () => {
    at.write('a', '1');
    await recordStart();
    await takes(1);
    at.commits();
    at.git('switch', '--quiet', '-c', 'other');
    at.write('a', '2');
    at.commits('other');
    at.git('switch', '--quiet', 'main');
    at.write('a', '3');
    at.git('stash');
    await takes(2);
    at.git('stash', 'pop');
    at.commits('main');
    expect(() => at.git('merge', 'other')).toThrow('Command failed');
    await takes(3);
    expect(at.git('show', `${recordName(IT.id, '3')}:a`)).toContain('<<<<<<<');
    expect(at.git('status')).toContain('Unmerged paths');
    at.git('merge', '--abort');
    at.git('checkout', '--quiet', '--detach', 'other');
    at.git('branch', '--quiet', '--force', 'main', 'other');
    await takes(4);
    expect(at.git('show', `${recordName(IT.id, '2')}:a`)).toBe('1');
    expect(at.git('show', `${recordName(IT.id, '4')}:a`)).toBe('2');
  });

  it('records a submodule by its commit and leaves it alone', async () => {
    const origin = `${at.folder}/origin`;
    at.git('init', '--quiet', origin);
    at.git('-C', origin, 'commit', '--quiet', '--allow-empty', '--message', 'one');
    at.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', origin, 'sub');
    at.commits();
    at.write('sub/dirty', '1');
    await recordStart();
    await takes(1);
    expect(at.git('ls-tree', recordName(IT.id, '1'), 'sub')).toMatch(/^160000 commit/);
    at.git('-C', 'sub', 'commit', '--quiet', '--allow-empty', '--message', 'two');
    await takes(2);
    expect(at.git('diff', '--submodule=log', recordName(IT.id, '1'), recordName(IT.id, '2'))).toContain(
      '> two',
    );
    expect(at.git('-C', 'sub', 'status', '--porcelain')).toBe('?? dirty\n');
  });

  it('records only the workspace in a larger repository', async () => {
    at.write('sub/a', '1');
    at.write('other', '1');
    at.commits();
    await recordStart('sub');
    at.write('sub/a', '2');
    at.write('other', '2');
    await takes(1, 'sub');
    expect(at.git('diff', '--name-only', recordName(IT.id, 'start'), recordName(IT.id, '1'))).toBe('sub/a\n');
  });

  it('runs no hook', async () => {
    at.commits();
    for (const name of ['post-index-change', 'reference-transaction']) {
      at.write(`.git/hooks/${name}`, '#!/bin/sh\n: >hook-was-here\nexit 1\n');
      chmodSync(at.path(`.git/hooks/${name}`), 0o755);
    }
    await takes(1);
    expect(at.status).toEqual([]);
  });

  it('can be interrupted', async () => {
    at.commits();
    const interrupt = AbortSignal.abort();
    await expect(takeCheckpoint({ ...at.repository(), interrupt }, IT, 1, at.scratch)).rejects.toThrow('git');
    expect(await records()).toEqual([]);
  });
});

describe('the records of a loop', () => {
  it('are ordered, and the next name follows from them', async () => {
    const names = ['start', '1', '2', '10', 'rewind-1', 'rewind-2'];
    at.commits();
    const tree = await writeTree(at.repository(), at.scratch);
    for (const name of names.toReversed()) {
      // oxlint-disable-next-line no-await-in-loop -- git locks one at a time
      await recordTree(at.repository(), { ref: recordName(IT.id, name), tree, message: name });
    }
    expect(await records()).toEqual(names);
    expect(nextRewind(names)).toBe('rewind-3');
    expect([nameBefore(names, 1), nameBefore(names, 10), lastOf(names)]).toEqual(['start', '2', '10']);
    expect([nextRewind(['start']), nameBefore(['7'], 7), lastOf([])]).toEqual(['rewind-1', null, null]);
  });

  it('of an archived loop are those that the last one does not have below it, and those before rewinds', async () => {
    at.commits();
    await recordStart();
    for (const iteration of [1, 2]) {
      at.write('a', String(iteration));
      // oxlint-disable-next-line no-await-in-loop -- one after the other is the point
      await takes(iteration);
    }
    const tree = await writeTree(at.repository(), at.scratch);
    await recordTree(at.repository(), { ref: recordName(IT.id, 'rewind-1'), tree, message: 'm' });
    await thinRecords(at.repository(), IT.id);
    expect(await records()).toEqual(['2', 'rewind-1']);
    at.commits('whole');
    await takes(3);
    at.write('a', '4');
    await takes(4);
    await thinRecords(at.repository(), IT.id);
    expect(await records()).toEqual(['2', '4', 'rewind-1']);
    await thinRecords(at.repository(), 'other-1');
  });

  it('say how much git gc will free without them, and no other object is removed', async () => {
    at.write('kept', 'a line\n');
    at.commits();
    expect(await sizeOfRecords(at.repository(), IT.id)).toBe(0);
    await recordStart();
    at.write('noise', randomBytes(50_000).toString('base64'));
    at.write('staged', randomBytes(50_000).toString('base64'));
    await takes(1);
    at.git('add', 'staged');
    const size = await sizeOfRecords(at.repository(), IT.id);
    // The random bytes of one file: the user's index needs the other.
    expect([size > 45_000, size < 60_000]).toEqual([true, true]);
    const objects = () => Number(at.git('count-objects').split(' ')[0]);
    const before = objects();
    await removeRecords(at.repository(), IT.id);
    expect([await records(), objects()]).toEqual([[], before]);
    at.git('gc', '--quiet', '--prune=now');
    expect(at.git('show', ':staged')).not.toBe('');
    expect(await sizeOfRecords(at.repository(), IT.id)).toBe(0);
  });

  it('are an error outside of a repository', async () => {
    const outside = { ...at.repository(), folder: at.folder };
    await expect(listRecords(outside, IT.id)).rejects.toThrow('not a git repository');
  });
});

describe('the diff since the start', () => {
  it('S3.49 the diff since the start includes new files and every kind of change', async () => {
    for (const name of ['changed', 'gone', 'old name', 'run']) at.write(name, `${name}\n`.repeat(20));
    at.write('mine', 'before\n');
    at.commits();
    at.write('mine', 'changed by hand before the loop\n');
    await recordStart();
    expect(await diff()).toBe('');
    at.write('changed', 'other\n');
    at.remove('gone');
    at.git('mv', 'old name', 'new name');
    at.write('ü "new"', 'untracked\n');
    chmodSync(at.path('run'), 0o755);
    symlinkSync('nowhere', at.path('link'));
    writeFileSync(at.path('binary'), Buffer.from([0, 1, 2, 255]));
    const text = await diff();
    expect(text).toContain('+untracked');
    expect(text).toContain('rename from old name\nrename to new name');
    expect(text).toContain('deleted file mode 100644');
    expect(text).toContain('old mode 100644\nnew mode 100755');
    expect(text).toContain('new file mode 120000');
    expect(text).toContain('Binary files /dev/null and b/binary differ');
    expect(text).not.toContain('by hand');
  });

  it('ignores the user’s settings and runs no external program', async () => {
    at.write('a', '1\n');
    at.write('.gitattributes', '* diff=custom\n');
    at.commits();
    await recordStart();
    at.write('a', '2\n');
    const plain = await diff();
    for (const setting of [
      'diff.custom.textconv=false',
      'diff.custom.command=false',
      'diff.external=false',
      'color.ui=always',
      'diff.noprefix=true',
      'diff.mnemonicPrefix=true',
    ]) {
      at.git('config', ...setting.split('='));
    }
    expect(await diff()).toBe(plain);
    expect(plain).toContain('diff --git a/a b/a');
  });

  it('T093 is cut after the given number of bytes, and takes any bytes', async () => {
    at.commits();
    await recordStart();
    writeFileSync(at.path('a'), Buffer.from([0xff, 0xfe, 0x0a]));
    at.write('big', 'a line of text\n'.repeat(2_000_000));
    const text = await diff(30_000);
    expect(text.length).toBeLessThanOrEqual(30_000);
    expect(text).toContain('+\uFFFD\uFFFD\n');
    expect(text).toContain('+a line of text\n+a line');
  });

  it('includes only the workspace in a larger repository', async () => {
    at.write('sub/a', '1\n');
    at.commits();
    await recordStart('sub');
    at.write('sub/a', '2\n');
    at.write('top', '2\n');
    at.git('add', 'top');
    expect((await diff(100_000, 'sub')).match(/^diff .*$/gm)).toEqual(['diff --git a/sub/a b/sub/a']);
  });

  it('is empty without a record of the start', async () => {
    at.write('a', '1\n');
    expect(await diff()).toBe('');
  });
});
