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
import type { Difference } from './differences.ts';
import { ask, configured, resolve, tell, type Repository } from './git.ts';
import { enter, entryOf, follow, stage, unstage } from './staging.ts';
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
  await enter(repository, changes.map(entryOf), inCopy);
  await stage(repository, changes, stagedFile(folder));
  // Whatever is configured, nothing of the message is a comment.
  const args = ['commit', '--cleanup=whitespace', '--message', message];
  // Whoever tidied up with this index would not see what the user has staged in theirs.
  return { args, env: { ...configured(repository.env, UNTIDIED), ...inCopy } };
}

const UNTIDIED = { 'gc.auto': '0', 'maintenance.auto': 'false' };

export interface CommitPlan {
  /** Where the attempt is written down; it outlives us. */
  readonly folder: string;
  readonly message: string;
}

export interface PreparedCommit {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
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

/** Nothing was committed: what was staged for it is taken back. */
export async function takeBack(repository: Repository, folder: string): Promise<void> {
  rmSync(indexFile(folder), { force: true });
  await unstage(repository, stagedFile(folder));
}

/** The commit is there: so it is in the user's index, and git may tidy up as it does after any commit. */
export async function settle(repository: Repository, folder: string, commit: string): Promise<void> {
  rmSync(indexFile(folder), { force: true });
  await follow(repository, stagedFile(folder), commit);
  await ask(repository, ['maintenance', 'run', '--auto', '--quiet']);
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
