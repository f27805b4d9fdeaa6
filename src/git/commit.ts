/**
 * One commit of what a loop has changed, and of nothing else.
 *
 * 1. What is committed is what the checks have seen: the tree as it was written then, whatever has happened to the files
 *    since.
 * 2. What the user has staged, changed or added and the loop has not touched stays exactly as it is, staged or not.
 * 3. The commit itself is the user's own git's: hooks, signatures and all.
 * 4. One that was made and not heard of is recognised, so that it is never made twice.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { foldersOf } from './changes.ts';
import type { Difference } from './differences.ts';
import { ask, failed, resolve, tell, type Repository } from './repository.ts';
import { CAREFULLY, copyOfIndex } from './tree.ts';

/**
 * Gets everything ready, and gives the arguments behind `git` and what it must know besides. The commit is made from an
 * index of its own, with the last commit and the changes in it. In the user's index they are staged before, so that it
 * fits whenever the commit comes to be; `takeBack` undoes that where it does not.
 */
export async function prepareCommit(
  repository: Repository,
  changes: readonly Difference[],
  { folder, message }: CommitPlan,
): Promise<PreparedCommit> {
  const note = readNote(folder);
  await noteHead(repository, folder, { tree: note?.tree ?? null, message });
  const index = indexFile(folder);
  await copyOfIndex(repository, index);
  const inCopy = { GIT_INDEX_FILE: index };
  const last = await resolve(repository, 'HEAD^{commit}');
  const clear = last === null ? ['read-tree', '--empty'] : ['read-tree', '--reset', last];
  await tell(repository, [...CAREFULLY, ...clear], inCopy);
  const lines = changes.map(entryOf);
  await enter(repository, lines, inCopy);
  // What an earlier attempt has staged is taken back as it was before that.
  if (!hasStaged(folder)) {
    writeFileSync(stagedFile(folder), (await entriesBefore(repository, changes)).join(''), 'latin1');
  }
  await enter(repository, lines);
  // Whatever is configured, nothing of the message is a comment.
  return { args: ['commit', '--cleanup=whitespace', '--message', message], env: inCopy };
}

export interface CommitPlan {
  /** Where the attempt is written down; it outlives us. */
  readonly folder: string;
  readonly message: string;
}

export interface PreparedCommit {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A change in the form that `update-index` reads. */
function entryOf({ path, modes, becomes }: Difference): string {
  // Of one that is gone both are nothing, which removes it.
  return `${modes[1]} ${becomes}\t${path}\0`;
}

async function enter(
  repository: Repository,
  entries: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const args = [...CAREFULLY, 'update-index', '-z', '--index-info'];
  const answer = await ask(repository, args, more, { input: Buffer.from(entries.join(''), 'latin1') });
  if (answer.code !== 0) throw failed(['update-index'], answer);
}

/** What makes the user's index again what it is now, as far as these changes go. */
async function entriesBefore(
  repository: Repository,
  changes: readonly Difference[],
): Promise<readonly string[]> {
  const paths = changes.map(({ path }) => path);
  const [files, folders] = [new Set(paths), foldersOf(paths)];
  // What stands in the way of a change goes with it.
  const isConcerned = (path: string): boolean =>
    files.has(path) || folders.has(path) || [...foldersOf([path])].some((folder) => files.has(folder));
  const listed = await tell(repository, ['ls-files', '--cached', '--stage', '--full-name', '-z', ':(top)']);
  const known = listed.split('\0').filter((entry) => isConcerned(entry.slice(entry.indexOf('\t') + 1)));
  // `<mode> <object> <stage>`, of which the last is read only where there are conflicts.
  const entries = known.map((entry) => `${entry.replace(/ \d\t/, '\t')}\0`);
  const removals = changes.map((one) =>
    entryOf({ ...one, modes: [one.modes[0], '0'], becomes: nothingOf(one) }),
  );
  return [...removals, ...entries];
}

/** The name of no object, which is as long as any. */
function nothingOf({ becomes }: Difference): string {
  return '0'.repeat(becomes.length);
}

/** Writes down what is checked out before anything is done about it; without a message nobody has begun to commit. */
export async function noteHead(
  repository: Repository,
  folder: string,
  { tree, message = null }: { readonly tree: string | null; readonly message?: string | null },
): Promise<void> {
  const note: Note = { head: await resolve(repository, 'HEAD^{commit}'), tree, message };
  writeFileSync(noteFile(folder), JSON.stringify(note));
}

export interface Note {
  /** What was checked out; null before the first commit. */
  readonly head: string | null;
  /** What the checks have seen. */
  readonly tree: string | null;
  readonly message: string | null;
}

/** Whether something is in the user's index that may have to be taken back. */
export function hasStaged(folder: string): boolean {
  return existsSync(stagedFile(folder));
}

/** Nothing was committed: the index is again as it was. */
export async function takeBack(repository: Repository, folder: string): Promise<void> {
  const list = stagedFile(folder);
  rmSync(indexFile(folder), { force: true });
  if (!hasStaged(folder)) return;
  try {
    await enter({ ...repository, interrupt: NEVER }, [readFileSync(list, 'latin1')]);
    rmSync(list, { force: true });
  } catch {
    // Where there is no git any more, it says so when it is next asked to commit.
  }
}

const NEVER = new AbortController().signal;

/**
 * The commit is there, and what was staged for it is in it. A hook may have changed and staged files on its own: they are
 * in the commit, and not in the user's index, from which the next commit of somebody else would undo them.
 */
export async function settle(repository: Repository, folder: string, commit: string): Promise<void> {
  const diff = ['diff-tree', '-r', '-z', '--root', '--no-commit-id', '--name-only', '--no-renames', commit];
  const paths = (await tell(repository, diff)).split('\0').filter((path) => path !== '');
  if (paths.length > 0) {
    const list = join(folder, 'committed-paths');
    writeFileSync(list, paths.map((path) => `:(top,literal)${path}\0`).join(''), 'latin1');
    const reset = ['reset', '--quiet', `--pathspec-from-file=${list}`, '--pathspec-file-nul'];
    await ask({ ...repository, interrupt: NEVER }, reset);
    rmSync(list, { force: true });
  }
  for (const file of [stagedFile(folder), indexFile(folder)]) rmSync(file, { force: true });
}

/** What is checked out, if that is something else than what was noted. */
export async function movedTo(repository: Repository, folder: string): Promise<string | null> {
  const note = readNote(folder);
  const head = note === null ? null : await resolve(repository, 'HEAD^{commit}');
  return head === note?.head ? null : head;
}

/** The commit that an earlier attempt has made, though nobody heard of it; null if it has made none. */
export async function madeBefore(repository: Repository, folder: string): Promise<string | null> {
  const note = readNote(folder);
  const message = note?.message ?? null;
  const head = await movedTo(repository, folder);
  if (message === null || head === null) return null;
  const since = note === null || note.head === null ? head : `${note.head}..${head}`;
  // A hook may have added to the message, and somebody may have committed since.
  const log = await ask(repository, ['log', '--first-parent', '-z', '--format=%H %B', since]);
  const commits = log.code === 0 ? log.stdout.toString('utf8').split('\0') : [];
  const made = commits.find((entry) => entry.slice(entry.indexOf(' ')).includes(message));
  return made?.split(' ', 1)[0] ?? null;
}

export function wasAttempted(folder: string): boolean {
  return (readNote(folder)?.message ?? null) !== null;
}

export function readNote(folder: string): Note | null {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `noteHead`
    return JSON.parse(readFileSync(noteFile(folder), 'utf8')) as Note;
  } catch {
    return null;
  }
}

function noteFile(folder: string): string {
  return join(folder, 'head.json');
}

/** The index that the commit is made from. */
function indexFile(folder: string): string {
  return join(folder, 'commit-index');
}

/** What was in the user's index where the changes are staged now. */
function stagedFile(folder: string): string {
  return join(folder, 'staged');
}
