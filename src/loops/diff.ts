import { enclosure, scratchIn } from '../git/git.ts';
import { guardDiff } from '../git/diff-programs.ts';
import { nameBefore } from '../git/records.ts';
import { writeTree } from '../git/tree.ts';
import { runAttached } from '../process/attached.ts';
import { wrappedShort } from '../process/sandboxed.ts';
import { UserError } from '../user-error.ts';
import { withGitErrorsForUser } from '../scm/git.ts';
import { recordNamed, recordsOf, type LoopRecords } from '../scm/loop-records.ts';
import type { LoopReading } from '../store/read-loop.ts';
import { startersEnvironment } from '../store/run-environment.ts';

/**
 * Shows with `git diff` what a loop has changed: until now, in an iteration (`3`), or between two records (`start..3`,
 * `3..now`). The user's diff settings apply, but no program that only the repository names. `show` gets the output, if it
 * must not go to our stdout as it is. Returns git's exit code.
 */
export async function diffLoop(
  loop: LoopReading,
  what: string | null,
  options: readonly string[],
  show: ((chunk: Buffer) => void) | null = null,
): Promise<number> {
  const records = await recordsOf(loop);
  const [from, to] = ends(loop.spec.name, what, records);
  const { repository } = records;
  const treeOf = async (word: string): Promise<string> =>
    word === 'now' ? filesOf(loop, records) : recordNamed(loop.spec.name, word, records);
  const trees = [await treeOf(from), await treeOf(to)];
  const [program, ...more] = repository.command;
  const guard = await guardDiff(repository);
  const words = ['diff', ...guard.options, ...options, ...trees, '--', '.'];
  const env = { ...startersEnvironment(process.env), ...guard.env };
  const argv: readonly [string, ...string[]] = [program, ...more, ...words];
  const view = await enclosure(repository, env);
  const place = { cwd: repository.folder, env: view?.env ?? env };
  const code = await runAttached(view === null ? argv : wrappedShort(view.wrapper, argv), place, show);
  if (code === null) throw new UserError('git is required but not installed');
  return code;
}

/** The names of the two records to compare, or `now`. */
function ends(name: string, what: string | null, found: LoopRecords): readonly [string, string] {
  const words = (what ?? 'start..now').split('..');
  const [from = '', to = ''] = words;
  if (words.length > 2) {
    throw new UserError(
      `bad range ${JSON.stringify(what)}: expected the number of an iteration or a range, such as 3, 2..5 or start..now`,
    );
  }
  if (words.length === 2) return [from === '' ? 'start' : from, to === '' ? 'now' : to];
  if (!/^\d+$/.test(from)) return [from, 'now'];
  recordNamed(name, from, found);
  const before = nameBefore([...found.records.keys()], Number(from));
  if (before !== null) return [before, from];
  throw new UserError(
    `"${name}" has no record before iteration ${from} to compare with; compare it with another record: ralph diff ${name} ${from}..now`,
  );
}

function filesOf({ folder, spec }: LoopReading, { repository, hasFiles }: LoopRecords): Promise<string> {
  if (!hasFiles)
    throw new UserError(`the files of "${spec.name}" are gone; compare two of its checkpoints instead`);
  return withGitErrorsForUser(() => writeTree(repository, scratchIn(folder.path, `diff-${process.pid}`)));
}
