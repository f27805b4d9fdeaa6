import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { headCommit, recordedCommit, recordedTree } from './read-ref.ts';
import { recordTree, writeTree } from './tree.ts';
import { writeCommit, writeRef } from './write-record.ts';

const REF = 'refs/ralph/it-1/7';
let at: GitFolder;
beforeEach(() => {
  at = GitFolder.begun();
});
afterEach(() => at.close());

const head = () => at.git('rev-parse', 'HEAD').trim();
const text = () => ({
  tree: at.git('rev-parse', 'HEAD^{tree}').trim(),
  parent: head(),
  person: 'ralph <ralph@localhost>',
  message: 'ralph: Łódź\n\nRalph-Iteration: 7\n',
});

describe('a record that is written without git', () => {
  it('is the same object that git would write', async () => {
    const id = (await writeCommit(at.repository(), text())) ?? '';
    const content = at.git('cat-file', 'commit', id);
    expect(content).toMatch(/^tree .*\nparent .*\nauthor ralph <ralph@localhost> \d+ [+-]\d{4}\ncommitter /);
    expect(content.endsWith('\n\nralph: Łódź\n\nRalph-Iteration: 7\n')).toBe(true);
    writeFileSync(at.path('content'), content);
    expect(at.git('hash-object', '-t', 'commit', 'content').trim()).toBe(id);
    expect(at.git('fsck', '--strict')).not.toContain('error');
  });

  it('has a ref that git finds, also if it replaces a packed one', async () => {
    at.git('update-ref', REF, text().tree);
    at.git('pack-refs', '--all');
    expect(await writeRef(at.repository(), REF, head())).toBe(true);
    expect(at.git('rev-parse', REF).trim()).toBe(head());
    expect(await recordedCommit(at.repository(), REF)).toBe(head());
  });

  it('has the tree that git says, whether its ref and its commit are files or packed', async () => {
    expect(await recordedTree(at.repository(), REF)).toBe(null);
    const id = (await writeCommit(at.repository(), text())) ?? '';
    await writeRef(at.repository(), REF, id);
    expect(await recordedTree(at.repository(), REF)).toBe(text().tree);
    at.git('gc', '--quiet', '--prune=now');
    expect(await recordedTree(at.repository(), REF)).toBe(text().tree);
    at.git('update-ref', REF, text().tree);
    expect(await recordedTree(at.repository(), REF)).toBe(text().tree);
  });

  it('replaces a ref that leads to a branch, and does not move the branch', async () => {
    const before = head();
    at.git('symbolic-ref', REF, at.git('symbolic-ref', 'HEAD').trim());
    const tree = await writeTree(at.repository(), at.scratch);
    await recordTree(at.repository(), { ref: REF, tree, message: 'm' });
    expect(head()).toBe(before);
    expect(at.git('rev-parse', `${REF}^`).trim()).toBe(before);
  });

  it('is left to git if its parent is no commit, is packed or does not exist', async () => {
    const { tree } = text();
    for (const parent of [tree, 'a'.repeat(40)])
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await writeCommit(at.repository(), { ...text(), parent })).toBeNull();
    at.git('gc', '--quiet');
    expect(await writeCommit(at.repository(), text())).toBeNull();
  });

  it('is left to git if another process writes the ref, or something else is in its place', async () => {
    mkdirSync(at.path('.git/refs/ralph/it-1'), { recursive: true });
    writeFileSync(at.path(`.git/${REF}.lock`), '');
    expect(await writeRef(at.repository(), REF, head())).toBe(false);
    expect(existsSync(at.path(`.git/${REF}.lock`))).toBe(true);
    rmSync(at.path(`.git/${REF}.lock`));
    mkdirSync(at.path(`.git/${REF}`));
    writeFileSync(at.path(`.git/${REF}/x`), '');
    expect(await writeRef(at.repository(), REF, head())).toBe(false);
    expect(existsSync(at.path(`.git/${REF}.lock`))).toBe(false);
    rmSync(at.path('.git/refs/ralph'), { recursive: true });
    mkdirSync(at.path('elsewhere'));
    symlinkSync(at.path('elsewhere'), at.path('.git/refs/ralph'));
    expect(await writeRef(at.repository(), REF, head())).toBe(false);
  });

  it.each(['core.sharedRepository=group', 'core.logAllRefUpdates=always', 'core.fsync=all'])(
    'is left to git with %s',
    async (setting) => {
      at.git('config', ...setting.split('='));
      expect(await writeCommit(at.repository(), text())).toBeNull();
      expect(await writeRef(at.repository(), REF, head())).toBe(false);
      const tree = await writeTree(at.repository(), at.scratch);
      await recordTree(at.repository(), { ref: REF, tree, message: 'm' });
      expect(at.git('rev-parse', `${REF}^{tree}`).trim()).toBe(tree);
    },
  );

  it('is left to git if it cannot be written', async () => {
    if (process.getuid?.() === 0) return;
    chmodSync(at.path('.git/objects'), 0o500);
    expect(await writeCommit(at.repository(), text())).toBeNull();
    chmodSync(at.path('.git/objects'), 0o700);
  });
});

describe('HEAD', () => {
  it('is found on a branch, detached, packed, in a worktree and before the first commit', async () => {
    const now = () => headCommit(at.repository());
    expect(await now()).toBe(head());
    at.git('checkout', '--quiet', '-b', 'fo/bär');
    at.commits();
    expect(await now()).toBe(head());
    at.git('pack-refs', '--all');
    expect(await now()).toBe(head());
    at.git('checkout', '--quiet', '--detach', 'HEAD^');
    expect(await now()).toBe(head());
    at.git('worktree', 'add', '--quiet', at.path('tree'), 'fo/bär');
    expect(await headCommit(at.repository('tree'))).toBe(at.git('rev-parse', 'fo/bär').trim());
    at.git('checkout', '--quiet', '--orphan', 'new');
    expect(await now()).toBeNull();
  });

  it('is left to git if its file is no usual one', async () => {
    const before = head();
    const branch = readFileSync(at.path('.git/HEAD'), 'utf8').trim().replace('ref: ', '');
    rmSync(at.path(`.git/${branch}`));
    symlinkSync(at.path('a'), at.path(`.git/${branch}`));
    expect(await headCommit(at.repository())).not.toBe(before);
  });
});
