/**
 * What a loop has changed: until now, in an iteration (`3`), or between two records (`start..3`, `3..now`).
 *
 * 1. A diff names two trees of git. What is asked about them later (the patch, `git diff` on a terminal) is about the same files, also
 *    while the loop goes on.
 * 2. Only the command for a terminal obeys the user's diff settings, and no program that only the repository names runs.
 */
import { type ChangedLines, changedLines } from '../git/changed-lines.ts';
import { enclosure, execGit, gitFailure, scratchIn } from '../git/git.ts';
import { guardDiff } from '../git/diff.ts';
import { nameBefore } from '../git/records.ts';
import { writeTree } from '../git/tree.ts';
import { wrappedShort } from '../process/sandboxed.ts';
import { UserError } from '../user-error.ts';
import { withGitErrorsForUser } from '../workspace/user-git.ts';
import { type LoopRecords, recordNamed, recordsOf, treesOf } from '../workspace/loop-records.ts';
import { maskOf } from '../home/mask.ts';
import type { LoopReading } from '../home/read-loop.ts';
import { startersEnvironment } from '../home/run-environment.ts';
import type { Chunk, Range } from './output.ts';

export interface LoopDiff extends Trees {
  readonly files: readonly ChangedLines[];
}

/** The ids of two trees of git, or of commits that have them. */
export interface Trees {
  readonly before: string;
  readonly after: string;
}

export async function diffOf(loop: LoopReading, what: string | null): Promise<LoopDiff> {
  const records = await recordsOf(loop);
  const { before, after } = await endsOf(loop, what, records);
  const files = await withGitErrorsForUser(() => changedLines(records.repository, before, after));
  return { before, after, files: maskOf(loop.spec).value(files) };
}

/** A piece of the patch between two trees, without secrets. */
export async function patchOf(
  loop: LoopReading,
  trees: Trees,
  { from, bytes = MOST_BYTES }: Range,
): Promise<Chunk> {
  const mask = maskOf(loop.spec);
  for (let length = Math.min(bytes, MOST_BYTES); ; length *= 2) {
    const most = from + length;
    // oxlint-disable-next-line no-await-in-loop -- once, unless a secret is longer than the piece
    const { content, isWhole } = await patchUpTo(loop, trees, most + 1);
    const size = Math.min(content.length, most);
    const isEnd = isWhole && content.length <= most;
    const start = Math.max(0, Math.min(from, size) - mask.longest);
    const part = mask.between(
      content.subarray(start, size),
      Math.min(from, size) - start,
      isEnd ? 'end' : 'middle',
    );
    if (part.to > part.from || isEnd)
      return {
        from: start + part.from,
        next: start + part.to,
        size,
        data: part.shown.toString('base64'),
        after: isEnd ? 'end' : 'more',
      };
  }
}

const MOST_BYTES = 256 * 1024;

interface Patch {
  readonly key: string;
  readonly content: Buffer;
  readonly isWhole: boolean;
}

/** What was read last: git makes a patch from its beginning, and a reader asks for one piece after the other. */
let read: Patch | null = null;

/** A patch, or its beginning with at least so many bytes. */
async function patchUpTo(loop: LoopReading, { before, after }: Trees, bytes: number): Promise<Patch> {
  const key = `${loop.spec.id} ${before} ${after}`;
  if (read?.key === key && (read.isWhole || read.content.length >= bytes)) return read;
  if (bytes > MOST_PATCH_BYTES)
    throw new UserError(`the patch has more than ${MOST_PATCH_BYTES / 1024 / 1024} MB`);
  const { repository } = await recordsOf(loop);
  const options = ['-r', '-p', '-M', '--no-ext-diff', '--no-textconv', '--no-color', '--relative'];
  const places = ['--src-prefix=a/', '--dst-prefix=b/', before, after, '--', '.'];
  const args = ['diff-tree', ...options, ...places];
  // Much more than this piece, for the next ones.
  const asked = Math.min(MOST_PATCH_BYTES, bytes * 8);
  const answer = await withGitErrorsForUser(() => execGit(repository, args, {}, { stopAfterBytes: asked }));
  if (answer.code !== 0) throw gitFailure(args, answer);
  const patch = { key, content: answer.stdout, isWhole: answer.stdout.length < asked };
  read = patch;
  setTimeout(() => {
    if (read === patch) read = null;
  }, KEPT_MS).unref();
  return patch;
}

/** What this process keeps in memory. */
const MOST_PATCH_BYTES = 64 * 1024 * 1024;
const KEPT_MS = 30_000;

/** The command that shows with the user's git what a loop has changed, for a terminal. */
export async function diffCommand(
  loop: LoopReading,
  what: string | null,
  options: readonly string[],
): Promise<TerminalCommand> {
  const records = await recordsOf(loop);
  const { repository } = records;
  const trees = await endsOf(loop, what, records);
  const [program, ...more] = repository.command;
  const guard = await guardDiff(repository);
  const words = ['diff', ...guard.options, ...options, trees.before, trees.after, '--', '.'];
  const env = { ...startersEnvironment(process.env), ...guard.env };
  const argv: readonly [string, ...string[]] = [program, ...more, ...words];
  const view = await enclosure(repository, env);
  return view === null
    ? { argv, cwd: repository.folder, env }
    : { argv: wrappedShort(view.wrapper, argv), cwd: repository.folder, env: view.env };
}

export interface TerminalCommand {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

async function endsOf(loop: LoopReading, what: string | null, found: LoopRecords): Promise<Trees> {
  const known = { ...found, records: treesOf(loop, found) };
  const [from, to] = ends(loop.spec.name, what, known);
  const treeOf = async (word: string): Promise<string> =>
    word === 'now' ? filesOf(loop, known) : recordNamed(loop.spec.name, word, known);
  return { before: await treeOf(from), after: await treeOf(to) };
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
  return [nameBefore([...found.records.keys()], Number(from)) ?? 'start', from];
}

let diffs = 0;

function filesOf({ folder, spec }: LoopReading, { repository, hasFiles }: LoopRecords): Promise<string> {
  if (!hasFiles)
    throw new UserError(`the files of "${spec.name}" are gone; compare two of its checkpoints instead`);
  const scratch = scratchIn(folder.path, `diff-${process.pid}-${diffs++}`);
  return withGitErrorsForUser(() => writeTree(repository, scratch));
}
