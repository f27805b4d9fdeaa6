import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { headCommit, recordTree } from './refs.ts';
import { writeTree } from './tree.ts';
import { branchOf } from './worktree.ts';

const REF = 'refs/ralph/it-1/7';
let at: GitFolder;
beforeEach(() => {
  at = GitFolder.begun();
});
afterEach(() => at.close());

const parsed = (revision: string) => at.git('rev-parse', revision).trim();
const records = async (more: Partial<Parameters<typeof recordTree>[1]> = {}) => {
  const tree = await writeTree(at.repository(), at.scratch);
  return recordTree(at.repository(), { ref: REF, tree, message: 'm', ...more });
};

describe('a record', () => {
  it('replaces a ref that leads to a branch, and does not move the branch', async () => {
    const before = parsed('HEAD');
    at.git('symbolic-ref', REF, at.git('symbolic-ref', 'HEAD').trim());
    await records();
    expect(parsed('HEAD')).toBe(before);
    expect(parsed(`${REF}^`)).toBe(before);
  });

  it('is a commit of Ralph with its message, whatever the settings of the user', async () => {
    at.git('config', 'commit.gpgSign', 'true');
    at.git('config', 'i18n.commitEncoding', 'UTF-8');
    await records({ message: 'ralph: Łódź', trailers: ['Ralph-Iteration: 7', 'Ralph-Loop: it'] });
    expect(at.git('log', '-1', '--format=%an <%ae>, %cn <%ce>%n%B', REF)).toBe(
      'ralph <ralph@localhost>, ralph <ralph@localhost>\nralph: Łódź\n\nRalph-Iteration: 7\nRalph-Loop: it\n\n',
    );
  });

  it('may be HEAD itself if that is newer than the record before it and has the same tree', async () => {
    await records();
    const after = { on: parsed(REF), mayBeHead: true };
    await records(after);
    expect(parsed(`${REF}^`)).toBe(after.on);
    at.write('a', '2');
    at.commits();
    await records(after);
    expect(parsed(REF)).toBe(parsed('HEAD'));
    at.write('a', '3');
    await records(after);
    expect([parsed(`${REF}^`), at.git('show', `${REF}:a`)]).toEqual([after.on, '3']);
  });

  it('needs no commit to be made on', async () => {
    at.git('checkout', '--quiet', '--orphan', 'new');
    await records({ mayBeHead: true });
    expect(at.git('log', '--format=%s', REF)).toBe('m\n');
  });

  it('is not made on one that does not exist', async () => {
    const missing = { on: 'refs/ralph/it-1/6', mayBeHead: true };
    await expect(records(missing)).rejects.toThrow('git commit-tree failed');
    expect(at.git('for-each-ref', 'refs/ralph')).toBe('');
  });

  it('that git cannot write names the command', async () => {
    const lost = { tree: 'a'.repeat(40) };
    await expect(records(lost)).rejects.toThrow(/^git commit-tree failed: /);
    at.write('.git/refs/ralph/it-1/7/8', `${parsed('HEAD')}\n`);
    await expect(records()).rejects.toThrow(/^git update-ref failed: /);
  });
});

it('HEAD is found on a branch, detached, packed, in a worktree and before the first commit', async () => {
  const found = async (folder?: string) => {
    const repository = at.repository(folder);
    return [await headCommit(repository), await branchOf(repository)];
  };
  expect(await found()).toEqual([parsed('HEAD'), 'main']);
  at.git('checkout', '--quiet', '-b', 'fo/bär');
  at.commits();
  expect(await found()).toEqual([parsed('HEAD'), 'fo/bär']);
  at.git('pack-refs', '--all');
  expect(await found()).toEqual([parsed('HEAD'), 'fo/bär']);
  at.git('checkout', '--quiet', '--detach', 'HEAD^');
  expect(await found()).toEqual([parsed('HEAD'), null]);
  at.git('worktree', 'add', '--quiet', at.path('tree'), 'fo/bär');
  expect(await found('tree')).toEqual([parsed('fo/bär'), 'fo/bär']);
  at.git('checkout', '--quiet', '--orphan', 'new');
  expect(await found()).toEqual([null, 'new']);
});
