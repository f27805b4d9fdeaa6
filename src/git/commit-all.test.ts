import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../test/rig/cli/until.ts';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { changesSince } from './changes.ts';
import { cancelCommit, finishCommit, prepareCommit } from './commit.ts';
import { differences } from './differences.ts';
import type { Repository } from './git.ts';
import { seeTreeToCommit } from './seen-tree.ts';
import { recordTree, writeTree } from './tree.ts';

const START = 'refs/ralph/it/start';
let at: GitFolder;
let notes: string;
afterEach(() => at.close());

const recordStart = async () => {
  const tree = await writeTree(at.repository(), `${at.scratch}-start`);
  await recordTree(at.repository(), { ref: START, tree, message: 'start' });
};

describe('a commit of all changes since the last one', () => {
  /** A program in place of git that cannot answer. */
  const withoutGit = (): Repository => ({ ...at.repository(), command: ['/bin/false'] });
  const staged = () => at.git('diff', '--cached', '--name-status', '--no-renames').split('\n').slice(0, -1);
  const prepare = async (where = withoutGit()) => {
    const seen = { index: at.scratch, ...(await seeTreeToCommit(at.repository(), at.scratch)) };
    const list = await changesSince(at.repository(), { start: START, tree: seen.tree });
    return { seen, ...(await prepareCommit(where, list, { folder: notes, message: 'work', seen })) };
  };
  const CHANGES = ['M\tchanged', 'A\tdeep/new'];

  beforeEach(async () => {
    at = new GitFolder();
    notes = join(at.folder, 'notes');
    mkdirSync(notes);
    for (const name of ['changed', 'same']) at.write(name, name);
    at.commits();
    await recordStart();
    at.write('changed', '2');
    at.write('deep/new', '1');
  });

  it('is prepared without git', async () => {
    const { seen, args, env } = await prepare();
    expect(staged()).toEqual(CHANGES);
    at.gitWith(env, ...args);
    expect(await finishCommit(withoutGit(), notes, at.git('rev-parse', 'HEAD').trim(), seen.tree)).toBe(true);
    expect([at.status, staged()]).toEqual([[], []]);
    at.write('changed', '3');
    const { tree } = await seeTreeToCommit(at.repository(), at.scratch);
    expect(at.git('diff', '--name-only', 'HEAD', tree)).toBe('changed\n');
  });

  it('is cancelled', async () => {
    await prepare();
    await cancelCommit(at.repository(), notes);
    expect(staged()).toEqual([]);
    expect(at.status.toSorted()).toEqual([' M changed', '?? deep/new']);
  });

  it('keeps the permissions of the index, and the files that changed after the look as changed', async () => {
    chmodSync(at.path('.git/index'), 0o640);
    await seeTreeToCommit(at.repository(), at.scratch);
    const { args, env } = await prepare();
    at.write('same', 'SAME');
    expect(statSync(at.path('.git/index')).mode & 0o777).toBe(0o640);
    at.gitWith(env, ...args);
    expect(at.status).toEqual([' M same']);
  });

  it('is prepared with git if the user has staged something', async () => {
    at.write('mine', '1');
    await recordStart();
    at.write('changed', '4');
    at.git('add', 'mine');
    const { args, env } = await prepare(at.repository());
    expect(staged()).toContain('A\tmine');
    at.gitWith(env, ...args);
    expect(at.git('show', '--format=', '--name-status', 'HEAD')).toBe('M\tchanged\n');
    expect(staged()).toEqual(['A\tmine']);
  });

  it('waits for another git that holds the index', async () => {
    writeFileSync(at.path('.git/index.lock'), '');
    const prepared = prepare(at.repository());
    await until('the staged files', () => existsSync(join(notes, 'staged')) || null);
    expect(staged()).toEqual([]);
    rmSync(at.path('.git/index.lock'));
    await prepared;
    expect(staged()).toEqual(CHANGES);
  });

  it('is prepared although a killed Ralph has left the lock of the index, and no other process has', async () => {
    leaveLock();
    await prepare(at.repository());
    expect(staged()).toEqual(CHANGES);
    expect(indexFiles()).toEqual(['index']);
  });

  it('is cancelled although a killed Ralph has left the lock of the index', async () => {
    leaveLock();
    const object = at.git('rev-parse', 'HEAD:changed').trim();
    const entry = {
      path: 'changed',
      entry: `100644 ${'1'.repeat(40)}`,
      before: [`100644 ${object}\tchanged\0`],
    };
    writeFileSync(join(notes, 'staged'), JSON.stringify([entry]));
    await cancelCommit(at.repository(), notes);
    expect(indexFiles()).toEqual(['index']);
  });

  /** As a process of the same pid, which is common in containers. */
  const leaveLock = () => {
    const own = at.path(`.git/index.ralph-${process.pid}-1`);
    writeFileSync(own, 'left');
    linkSync(own, at.path('.git/index.lock'));
  };
  const indexFiles = () => readdirSync(at.path('.git')).filter((name) => name.startsWith('index'));
});

it('does not contain what the user stages while it is prepared', async () => {
  at = new GitFolder();
  notes = join(at.folder, 'notes');
  mkdirSync(notes);
  at.write('code', '1');
  at.commits();
  at.write('code', '2');
  const { tree } = await seeTreeToCommit(at.repository(), at.scratch);
  const changes = await differences(at.repository(), at.git('rev-parse', 'HEAD').trim(), tree);
  at.write('mine', '1');
  const wrapper = join(at.folder, 'git');
  // Ralph asks for these settings before it replaces the index.
  writeFileSync(wrapper, '#!/bin/sh\ncase "$*" in *get-regexp*) git add mine ;; esac\nexec git "$@"\n');
  chmodSync(wrapper, 0o755);
  const plan = { folder: notes, message: 'work', seen: { index: at.scratch, tree } };
  const { args, env } = await prepareCommit({ ...at.repository(), command: [wrapper] }, changes, plan);
  at.gitWith(env, ...args);
  expect(at.git('show', '--format=', '--name-only', 'HEAD')).toBe('code\n');
  expect(at.git('diff', '--cached', '--name-only')).toBe('mine\n');
});
