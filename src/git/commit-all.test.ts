import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../test/rig/cli/until.ts';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { changesSince } from './changes.ts';
import { cancelCommit, finishCommit, prepareCommit } from './commit.ts';
import { differences } from './differences.ts';
import { readCommit } from './made-commit.ts';
import { seeTree } from './seen-tree.ts';
import { recordTree } from './refs.ts';
import { writeTree } from './tree.ts';

const START = 'refs/ralph/it/start';
let at: GitFolder;
let notes: string;
afterEach(() => at.close());

const recordStart = async () => {
  const tree = await writeTree(at.repository(), `${at.scratch}-start`);
  await recordTree(at.repository(), { ref: START, tree, message: 'start' });
};

describe('a commit of all changes since the last one', () => {
  const staged = () => at.git('diff', '--cached', '--name-status', '--no-renames').split('\n').slice(0, -1);
  const prepare = async () => {
    const { tree } = await seeTree(at.repository(), at.scratch);
    const list = await changesSince(at.repository(), { start: START, tree });
    return prepareCommit(at.repository(), list, { folder: notes, message: 'work' });
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

  it('is staged for the user, and leaves nothing staged once it is made', async () => {
    const { args, env } = await prepare();
    expect(staged()).toEqual(CHANGES);
    at.gitWith(env, ...args);
    await finishCommit(at.repository(), notes, await readCommit(at.repository(), 'HEAD'));
    expect([at.status, staged()]).toEqual([[], []]);
    at.write('changed', '3');
    const { tree } = await seeTree(at.repository(), at.scratch);
    expect(at.git('diff', '--name-only', 'HEAD', tree)).toBe('changed\n');
  });

  it('is cancelled', async () => {
    await prepare();
    await cancelCommit(at.repository(), notes);
    expect(staged()).toEqual([]);
    expect(at.status.toSorted()).toEqual([' M changed', '?? deep/new']);
  });

  it('keeps the files that changed after the look as changed', async () => {
    const { args, env } = await prepare();
    at.write('same', 'SAME');
    at.gitWith(env, ...args);
    expect(at.status).toEqual([' M same']);
  });

  it('leaves out what the user has staged', async () => {
    at.write('mine', '1');
    await recordStart();
    at.write('changed', '4');
    at.git('add', 'mine');
    const { args, env } = await prepare();
    expect(staged()).toContain('A\tmine');
    at.gitWith(env, ...args);
    expect(at.git('show', '--format=', '--name-status', 'HEAD')).toBe('M\tchanged\n');
    expect(staged()).toEqual(['A\tmine']);
  });

  it('waits for another git that holds the index', async () => {
    writeFileSync(at.path('.git/index.lock'), '');
    const prepared = prepare();
    await until('the staged files', () => existsSync(join(notes, 'staged')) || null);
    expect(staged()).toEqual([]);
    rmSync(at.path('.git/index.lock'));
    await prepared;
    expect(staged()).toEqual(CHANGES);
  });
});

it('does not contain what the user stages while it is prepared', async () => {
  at = new GitFolder();
  notes = join(at.folder, 'notes');
  mkdirSync(notes);
  at.write('code', '1');
  at.commits();
  at.write('code', '2');
  const { tree } = await seeTree(at.repository(), at.scratch);
  const changes = await differences(at.repository(), at.git('rev-parse', 'HEAD').trim(), tree);
  at.write('mine', '1');
  const wrapper = join(at.folder, 'git');
  writeFileSync(
    wrapper,
    '#!/bin/sh\ncase "$*" in *read-tree*) (unset GIT_INDEX_FILE; git add mine) ;; esac\nexec git "$@"\n',
  );
  chmodSync(wrapper, 0o755);
  const plan = { folder: notes, message: 'work' };
  const { args, env } = await prepareCommit({ ...at.repository(), command: [wrapper] }, changes, plan);
  at.gitWith(env, ...args);
  expect(at.git('show', '--format=', '--name-only', 'HEAD')).toBe('code\n');
  expect(at.git('diff', '--cached', '--name-only')).toBe('mine\n');
});
