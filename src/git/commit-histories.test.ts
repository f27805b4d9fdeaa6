import * as fc from 'fast-check';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { filesIn, filesOf, put, sorted, type Files } from '../../test/rig/git-history.ts';
import { changesSince } from './changes.ts';
import { prepareCommit, finishCommit } from './commit.ts';
import { readCommit } from './made-commit.ts';
import { seeTree } from './seen-tree.ts';
import { recordTree } from './refs.ts';
import { writeTree } from './tree.ts';

const START = 'refs/ralph/it/start';
/** Some names are folders in one history and files in another. */
const NAMES = ['a', 'a/b', 'c', 'd', 'd/e', 'd/f', 'g h', '-x', 'k', 'k/l/m'];

/** A file that is written (or removed, if `text` is null) and possibly staged. */
type Edit = { readonly name: string; readonly text: string | null; readonly staged: boolean };
const edits = fc.array(
  fc.record({
    name: fc.constantFrom(...NAMES),
    text: fc.option(fc.constantFrom<string>('1', '2', '3'), { freq: 2 }),
    staged: fc.boolean(),
  }),
  { maxLength: 8 },
);

it('commits what the loop changed in any history, and leaves everything else as it was', async () => {
  const histories = fc.asyncProperty(
    fc.record({ committed: edits, byUser: edits, byLoop: fc.array(edits, { minLength: 1, maxLength: 3 }) }),
    async ({ committed, byUser, byLoop }) => {
      const at = new GitFolder();
      try {
        apply(at, committed, false);
        at.commits();
        apply(at, byUser, true);
        await checkCommits(at, byLoop);
      } finally {
        at.close();
      }
    },
  );
  const found = {
    committed: [],
    byUser: [write('k/l/m', '2')],
    byLoop: [[write('k', '1')], [write('k/l/m', '2')]],
  };
  await expect(fc.assert(histories, { numRuns: 12, examples: [[found]] })).resolves.toBeUndefined();
});

function write(name: string, text: string): Edit {
  return { name, text, staged: false };
}

/** Lets the loop work and commit, and compares every commit with the expected one. */
async function checkCommits(at: GitFolder, byLoop: readonly (readonly Edit[])[]): Promise<void> {
  const repository = at.repository();
  const [start, base] = [filesIn(at.work), filesOf(at, 'HEAD')];
  const tree = await writeTree(repository, at.scratch);
  await recordTree(repository, { ref: START, tree, message: 'start' });
  for (const work of byLoop) {
    apply(at, work, false);
    const [now, head, index] = [filesIn(at.work), filesOf(at, 'HEAD'), indexOf(at)];
    const isOurs = (path: string): boolean =>
      now.get(path) !== head.get(path) &&
      (now.get(path) !== start.get(path) || head.get(path) !== base.get(path));
    const ours = [...new Set([...now.keys(), ...head.keys()])].filter(isOurs);
    /* oxlint-disable no-await-in-loop -- one commit after the other */
    const { tree: green } = await seeTree(repository, at.scratch);
    expect(at.git('rev-parse', `${green}^{tree}`).trim()).toBe(
      await writeTree(repository, `${at.scratch}-2`),
    );
    const changes = await changesSince(repository, { start: START, tree: green });
    expect(changes.map(({ path }) => path).toSorted()).toEqual(ours.toSorted());
    if (changes.length === 0) continue;
    const plan = { folder: at.folder, message: 'work' };
    const { args, env } = await prepareCommit(repository, changes, plan);
    at.gitWith(env, ...args);
    await finishCommit(repository, at.folder, await readCommit(repository, 'HEAD'));
    /* oxlint-enable no-await-in-loop */

    const expected = new Map(head);
    for (const path of ours) {
      const text = now.get(path);
      if (text === undefined) expected.delete(path);
      // A file in its way has already been removed.
      else for (const other of expected.keys()) if (excludes(path, other)) expected.delete(other);
      if (text !== undefined) expected.set(path, text);
    }
    expect(sorted(filesOf(at, 'HEAD'))).toEqual(sorted(expected));
    expect(sorted(filesIn(at.work))).toEqual(sorted(now));
    const untouched = (files: Files): Files =>
      new Map([...files].filter(([path]) => !ours.some((one) => one === path || excludes(one, path))));
    expect(sorted(untouched(indexOf(at)))).toEqual(sorted(untouched(index)));
  }
}

/** Whether one name is a folder of the other, so that not both can be files. */
function excludes(a: string, b: string): boolean {
  return a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}

function apply(at: GitFolder, all: readonly Edit[], mayStage: boolean): void {
  for (const { name, text, staged } of all) {
    put(at, name, text);
    prune(at.work);
    if (mayStage && staged && text !== null) at.git('add', '--', name);
  }
}

/** Removes empty folders: git does not track them, and they block file names. */
function prune(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name === '.git') continue;
    const inner = join(folder, entry.name);
    prune(inner);
    if (readdirSync(inner).length === 0) rmSync(inner, { recursive: true });
  }
}

function indexOf(at: GitFolder): Files {
  const entries = at.git('ls-files', '--stage', '-z').split('\0').slice(0, -1);
  return new Map(entries.map((entry) => [entry.split('\t')[1] ?? '', entry.split('\t')[0] ?? '']));
}
