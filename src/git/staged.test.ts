import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { changesSince } from './changes.ts';
import { finishCommit, prepareCommit } from './commit.ts';
import { readCommit } from './made-commit.ts';
import { stagedChanges } from './seen-tree.ts';
import { recordTree } from './refs.ts';
import { writeTree } from './tree.ts';

const START = 'refs/ralph/it/start';
let at: GitFolder;
let notes: string;
beforeEach(async () => {
  at = new GitFolder();
  notes = join(at.folder, 'notes');
  mkdirSync(notes);
  at.write('file', '1');
  at.write('other', '1');
  at.commits();
  const tree = await writeTree(at.repository(), at.scratch);
  await recordTree(at.repository(), { ref: START, tree, message: 'start' });
});
afterEach(() => at.close());

/** Commits what has changed; `meanwhile` runs after the commit was prepared. */
async function commit(meanwhile: () => void = () => {}): Promise<void> {
  const repository = at.repository();
  const tree = await writeTree(repository, at.scratch);
  const changes = await changesSince(repository, { start: START, tree });
  const { args, env } = await prepareCommit(repository, changes, { folder: notes, message: 'work' });
  meanwhile();
  at.gitWith(env, ...args);
  await finishCommit(repository, notes, await readCommit(repository, 'HEAD'));
}

const staged = () => stagedChanges(at.repository(), at.git('rev-parse', 'HEAD^{tree}').trim());

describe('stagedChanges', () => {
  it('are none after a commit of the loop', async () => {
    const before = await staged();
    at.write('file', '2');
    await commit();
    expect(await staged()).toBe(before);
    expect(at.git('diff', '--cached', '--name-only')).toBe('');
  });

  it('have what the user stages while the commit is made', async () => {
    const before = await staged();
    at.write('file', '2');
    await commit(() => {
      at.write('other', '2');
      at.git('add', 'other');
    });
    expect(await staged()).not.toBe(before);
    expect(at.git('diff', '--cached', '--name-only')).toBe('other\n');
  });

  it('have what the user has staged before, and after the commit', async () => {
    at.write('file', '2');
    at.write('mine', '1');
    const nothing = await staged();
    at.git('add', 'mine');
    const before = await staged();
    expect(before).not.toBe(nothing);
    await commit();
    at.write('other', '3');
    at.git('add', 'other');
    const after = await staged();
    expect([before, nothing]).not.toContain(after);
  });
});
