/**
 * One commit of what a loop has changed, and of nothing else.
 *
 * 1. What the user has staged, changed or added and the loop has not touched stays exactly as it is, staged or not.
 * 2. The commit itself is the user's own git's: hooks, signatures and all.
 * 3. One that was made and not heard of is recognised, so that it is never made twice.
 */
import { existsSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { foldersOf, indexed, type Change } from './changes.ts';
import { ask, resolve, tell, type Repository } from './repository.ts';

/**
 * Gets everything ready, and gives the arguments behind `git`. New files are announced to the index first, since git
 * commits only what it knows by name; `takeBack` undoes that where the commit fails.
 */
export async function prepareCommit(
  repository: Repository,
  changes: readonly Change[],
  { folder, message }: CommitPlan,
): Promise<readonly string[]> {
  await noteHead(repository, folder, message);
  const news = changes.filter(({ kind }) => kind === 'new');
  if (news.length > 0) {
    const known = await indexed(repository);
    const unknown = news.filter(({ path }) => !known.has(path));
    // What an earlier attempt has announced is taken back by this one.
    const announced = existsSync(announcedFile(folder)) ? readFileSync(announcedFile(folder), 'latin1') : '';
    writeFileSync(announcedFile(folder), announced + pathspecs(unknown), 'latin1');
    if (unknown.length > 0) {
      const list = join(folder, 'new-paths');
      writeFileSync(list, pathspecs(unknown), 'latin1');
      await tell(repository, ['add', '--intent-to-add', ...from(list)]);
      rmSync(list, { force: true });
    }
  }
  const list = pathsFile(folder);
  writeFileSync(list, pathspecs(nameable(changes)), 'latin1');
  // Whatever is configured, nothing of the message is a comment.
  const words = ['--cleanup=whitespace', '--message', message, ...from(list)];
  return ['commit', '--only', ...words];
}

export interface CommitPlan {
  /** Where the attempt is written down; it outlives us. */
  readonly folder: string;
  readonly message: string;
}

/** Writes down what is checked out before anything is done about it; without a message nobody has begun to commit. */
export async function noteHead(
  repository: Repository,
  folder: string,
  message: string | null = null,
): Promise<void> {
  const note: Note = { head: await resolve(repository, 'HEAD^{commit}'), message };
  writeFileSync(noteFile(folder), JSON.stringify(note));
}

interface Note {
  /** What was checked out; null before the first commit. */
  readonly head: string | null;
  readonly message: string | null;
}

/** Nothing was committed: the index is again as it was. */
export async function takeBack(repository: Repository, folder: string): Promise<void> {
  const list = announcedFile(folder);
  if (!existsSync(list) || lstatSync(list).size === 0) return;
  try {
    await ask({ ...repository, interrupt: NEVER }, ['reset', '--quiet', ...from(list)]);
    rmSync(list, { force: true });
  } catch {
    // Where there is no git any more, it says so when it is next asked to commit.
  }
}

const NEVER = new AbortController().signal;

/** The commit is there: what was announced for it is in it. */
export function settle(folder: string): void {
  for (const file of [announcedFile(folder), pathsFile(folder)]) rmSync(file, { force: true });
}

/**
 * A hook may have changed and staged files on its own: they are in the commit, and not in the index, from which the next
 * commit of somebody else would undo them.
 */
export async function followHooks(repository: Repository, folder: string): Promise<void> {
  const diff = ['diff-tree', '-r', '-z', '--root', '--no-commit-id', '--name-only', '--no-renames', 'HEAD'];
  const paths = (await tell(repository, diff)).split('\0').filter((path) => path !== '');
  if (paths.length === 0) return;
  const list = join(folder, 'committed-paths');
  writeFileSync(list, pathspecs(paths.map((path) => ({ path }))), 'latin1');
  await ask({ ...repository, interrupt: NEVER }, ['reset', '--quiet', ...from(list)]);
  rmSync(list, { force: true });
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

function readNote(folder: string): Note | null {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `noteHead`
    return JSON.parse(readFileSync(noteFile(folder), 'utf8')) as Note;
  } catch {
    return null;
  }
}

/**
 * The changes by name. Of a file that has become a folder, or the other way round, only what is there now is named: git
 * would take the old name for the new thing, and drops it by itself.
 */
function nameable(changes: readonly Change[]): readonly Change[] {
  const there = changes.filter(({ kind }) => kind !== 'gone').map(({ path }) => path);
  const [files, folders] = [new Set(there), foldersOf(there)];
  return changes.filter(({ path, kind }) => {
    if (kind !== 'gone') return true;
    return !folders.has(path) && ![...foldersOf([path])].some((folder) => files.has(folder));
  });
}

/** From the top of the repository, and every character means itself. */
function pathspecs(changes: readonly Pick<Change, 'path'>[]): string {
  return changes.map(({ path }) => `:(top,literal)${path}\0`).join('');
}

function from(list: string): readonly string[] {
  return [`--pathspec-from-file=${list}`, '--pathspec-file-nul'];
}

function noteFile(folder: string): string {
  return join(folder, 'head.json');
}

function pathsFile(folder: string): string {
  return join(folder, 'paths');
}

function announcedFile(folder: string): string {
  return join(folder, 'announced');
}
