import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { prepareCommit } from './commit.ts';
import { differences } from './differences.ts';
import { readCommit } from './made-commit.ts';
import { followCommit, stage, unstage } from './staging.ts';
import { writeTree } from './tree.ts';

let at: GitFolder;
let note: string;
beforeEach(() => {
  at = new GitFolder();
  note = join(at.folder, 'note');
  for (const name of ['a', 'b', 'c']) at.write(name, '1');
  at.commits();
});
afterEach(() => at.close());

/** Stages the loop's changes. */
const stages = async () => {
  at.write('a', 'loop');
  at.write('n', 'loop');
  at.remove('c');
  const tree = await writeTree(at.repository(), at.scratch);
  const changes = await differences(at.repository(), 'HEAD', tree);
  await stage(at.repository(), changes, note);
  return changes;
};

describe('unstage, when the commit was not made,', () => {
  it('restores the index', async () => {
    await stages();
    expect(at.status).toEqual(['M  a', 'D  c', 'A  n']);
    await unstage(at.repository(), note);
    expect(at.status).toEqual([' M a', ' D c', '?? n']);
    expect(existsSync(note)).toBe(false);
  });

  it('keeps what the user has committed', async () => {
    await stages();
    at.git('commit', '--quiet', '--message', 'by the user');
    await unstage(at.repository(), note);
    expect(at.status).toEqual([]);
  });

  it('keeps what the user has staged since', async () => {
    await stages();
    at.write('a', 'newer');
    at.git('add', 'a');
    at.write('a', 'newest');
    await unstage(at.repository(), note);
    expect(at.status).toEqual(['MM a', ' D c', '?? n']);
    expect(at.git('show', ':a')).toBe('newer');
  });

  it('waits while another process holds the index lock', async () => {
    await stages();
    const lock = at.path('.git/index.lock');
    writeFileSync(lock, '');
    setTimeout(() => rmSync(lock), 250);
    await unstage(at.repository(), note);
    expect(at.status).toEqual([' M a', ' D c', '?? n']);
  });
});

describe('followCommit', () => {
  it('takes over what a hook changed, added and left out', async () => {
    await stages();
    at.write('a', 'formatted');
    at.write('gen', 'made');
    // Like a hook that runs with the commit's own index.
    const own = { GIT_INDEX_FILE: join(at.folder, 'own') };
    at.gitWith(own, 'read-tree', 'HEAD');
    at.gitWith(own, 'add', 'a', 'gen', 'c');
    at.gitWith(own, 'commit', '--quiet', '--message', 'work');
    await followCommit(at.repository(), note, await readCommit(at.repository(), 'HEAD'));
    expect(at.status).toEqual(['?? n']);
  });

  it('keeps what the user has staged meanwhile', async () => {
    await stages();
    const own = { GIT_INDEX_FILE: join(at.folder, 'own') };
    at.gitWith(own, 'read-tree', 'HEAD');
    at.gitWith(own, 'add', '--all');
    at.gitWith(own, 'commit', '--quiet', '--message', 'work');
    at.write('a', 'newer');
    at.write('b', 'newer');
    at.git('add', 'a', 'b');
    await followCommit(at.repository(), note, await readCommit(at.repository(), 'HEAD'));
    expect(at.status).toEqual(['M  a', 'M  b']);
  });
});

it('git runs no maintenance with the commit’s own index', async () => {
  const changes = await stages();
  const folder = join(at.folder, 'plan');
  mkdirSync(folder);
  const { env } = await prepareCommit(at.repository(), changes, { folder, message: 'x' });
  expect(at.gitWith(env, 'config', '--get', 'gc.auto')).toBe('0\n');
  expect(at.gitWith(env, 'config', '--get', 'maintenance.auto')).toBe('false\n');
});
