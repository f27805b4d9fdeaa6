import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { filesIn, filesOf, put, sorted, type Files } from '../../test/rig/git-history.ts';
import { RestoreError } from './git-error.ts';
import { restoreFiles } from './restore.ts';
import { recordTree } from './refs.ts';
import { writeTree } from './tree.ts';

/** Some names are folders in one state and files in another, and some are ignored at times. */
const NAMES = ['a', 'a/b', 'a/b/c', 'd', 'd/e', 'f g', 'h/i', 'h/j'];
const IGNORED = ['a', 'a/b', 'd/', 'h/i', 'f g', 'h'];
const state = fc.record({
  deeds: fc.array(fc.tuple(fc.constantFrom(...NAMES), fc.option(fc.constantFrom('1', '2'), { freq: 3 })), {
    maxLength: 6,
  }),
  ignored: fc.subarray(IGNORED, { maxLength: 2 }),
  staged: fc.boolean(),
});
type State = Readonly<{
  deeds: readonly (readonly [string, string | null])[];
  ignored: readonly string[];
  staged: boolean;
}>;

it('restores a record in any history, and loses nothing', async () => {
  const histories = fc.asyncProperty(fc.array(state, { minLength: 2, maxLength: 3 }), async (states) => {
    const at = new GitFolder();
    try {
      for (const [index, one] of states.entries()) {
        live(at, one);
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await record(at, String(index), await writeTree(at.repository(), at.scratch));
      }
      await checkRewind(at, '0');
    } finally {
      at.close();
    }
  });
  await expect(
    fc.assert(histories, { numRuns: Number(process.env['RALPH_HISTORIES'] ?? 6) }),
  ).resolves.toBeUndefined();
});

const record = (at: GitFolder, name: string, tree: string) =>
  recordTree(at.repository(), { ref: `refs/ralph/it/${name}`, tree, message: name });

/** Rewinds and rewinds back, and compares the files with the expected ones. */
async function checkRewind(at: GitFolder, to: string): Promise<void> {
  const [before, index] = [filesIn(at.work), at.git('ls-files', '--stage')];
  const rewinds = (target: string, kept: string) =>
    restoreFiles(at.repository(), {
      to: `refs/ralph/it/${target}`,
      scratch: at.scratch,
      keep: (tree) => record(at, kept, tree),
      copies: { into: `${at.scratch}-of-${kept}`, from: `${at.scratch}-of-${target}` },
    });
  const came = await rewinds(to, 'rewind-1').catch((error: unknown) => error);
  if (came instanceof RestoreError) return mustBeUntouched(at, came, before);
  if (came instanceof Error) throw came;
  const after = filesIn(at.work);
  const hasChanged = at.git('for-each-ref', 'refs/ralph/it/rewind-1') !== '';
  const kept = hasChanged ? filesOf(at, 'refs/ralph/it/rewind-1') : before;
  for (const [path, text] of filesOf(at, `refs/ralph/it/${to}`))
    expect([path, after.get(path)]).toEqual([path, text]);
  for (const [path, text] of before)
    expect([path, after.get(path) === text || kept.get(path) === text]).toEqual([path, true]);
  // Every file that appears was recorded.
  const wanted = filesOf(at, `refs/ralph/it/${to}`);
  for (const [path, text] of after)
    expect([path, wanted.get(path) ?? before.get(path)]).toEqual([path, text]);
  expect(at.git('ls-files', '--stage')).toBe(index);
  const hidden = ignoredIn(at);
  const back = hasChanged ? await rewinds('rewind-1', 'rewind-2').catch((error: unknown) => error) : null;
  if (back instanceof RestoreError) return mustBeUntouched(at, back, after);
  if (back instanceof Error) throw back;
  const again = filesIn(at.work);
  for (const [path, text] of before) expect([path, again.get(path)]).toEqual([path, text]);
  // A file that is ignored at either end may stay.
  const more = [...again.keys()].filter((path) => !before.has(path));
  expect(more.filter((path) => !hidden.has(path) && !ignoredIn(at).has(path))).toEqual([]);
}

function ignoredIn(at: GitFolder): ReadonlySet<string> {
  return new Set(at.git('ls-files', '-z', '--others', '--ignored', '--exclude-standard').split('\0'));
}

function mustBeUntouched(at: GitFolder, { isUntouched }: RestoreError, before: Files): void {
  expect([isUntouched, sorted(filesIn(at.work))]).toEqual([true, sorted(before)]);
}

function live(at: GitFolder, { deeds, ignored, staged }: State): void {
  for (const [name, text] of deeds) put(at, name, text);
  if (staged) at.git('add', '--all');
  at.write('.gitignore', ignored.map((name) => `/${name}\n`).join(''));
}
