import { join } from 'node:path';
import { nameBefore } from '../git/records.ts';
import { writeTree } from '../git/tree.ts';
import { runAttached } from '../process/attached.ts';
import { UserError } from '../user-error.ts';
import { inWords } from '../scm/git.ts';
import { recordNamed, recordsOf, type LoopRecords } from '../scm/loop-records.ts';
import type { LoopReading } from '../store/read-loop.ts';
import { startersEnvironment } from '../store/run-environment.ts';

/**
 * Lets git show what a loop has changed: until now, in an iteration (`3`), or between two records (`start..3`, `3..now`).
 * How it looks is between the user and their git.
 */
export async function diffLoop(
  loop: LoopReading,
  what: string | null,
  options: readonly string[],
): Promise<number> {
  const records = await recordsOf(loop);
  const [from, to] = ends(loop.spec.name, what, records);
  const { repository } = records;
  const treeOf = async (word: string): Promise<string> =>
    word === 'now' ? filesOf(loop, records) : recordNamed(loop.spec.name, word, records);
  const trees = [await treeOf(from), await treeOf(to)];
  const [program, ...more] = repository.command;
  const code = await runAttached([program, ...more, 'diff', ...options, ...trees, '--', '.'], {
    cwd: repository.folder,
    env: startersEnvironment(process.env),
  });
  if (code === null) throw new UserError('git is needed and not installed');
  return code;
}

/** The two ends of what is asked for. */
function ends(name: string, what: string | null, found: LoopRecords): readonly [string, string] {
  const words = (what ?? 'start..now').split('..');
  const [from = '', to = ''] = words;
  if (words.length > 2) {
    throw new UserError(
      `${JSON.stringify(what)}: expected the number of an iteration, or two ends: 3, 2..5, start..now`,
    );
  }
  if (words.length === 2) return [from === '' ? 'start' : from, to === '' ? 'now' : to];
  if (!/^\d+$/.test(from)) return [from, 'now'];
  recordNamed(name, from, found);
  const before = nameBefore([...found.records.keys()], Number(from));
  if (before !== null) return [before, from];
  throw new UserError(
    `nothing is on record of "${name}" before iteration ${from}, to say what it has changed; compare with another: ralph diff ${name} ${from}..now`,
  );
}

function filesOf({ folder, spec }: LoopReading, { repository, hasFiles }: LoopRecords): Promise<string> {
  if (!hasFiles)
    throw new UserError(`the files that "${spec.name}" worked on are gone; compare two of its checkpoints`);
  return inWords(() => writeTree(repository, join(folder.path, `diff-index-${process.pid}`)));
}
