/**
 * The whole working tree as an object of git, and on record under a name of ours.
 *
 * 1. The user's index, branch and files are not touched: everything happens in a copy of the index.
 * 2. In it is what git tracks or would track, below the workspace; outside of it the tree is as the index has it. What
 *    git ignores is not in it, and neither is any `.ralph`.
 * 3. It works without any commit, and with any name of a file, also outside of a sparse checkout.
 * 4. What could not be read is told; what could not be written is an error: nothing is missing in silence.
 */
import { copyFileSync, existsSync, mkdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { dirname } from 'node:path';
import { ask, failed, GitError, whereIs, resolve, tell, type Repository } from './git.ts';

/** Writes the tree as it is now and tells its name; `scratch` is a file that nobody else uses. */
export function writeTree(repository: Repository, scratch: string): Promise<string> {
  return withTree(repository, scratch, async (tree) => tree);
}

/**
 * The same for whoever needs the index of that tree, too: until they are done, it is in `scratch`. They hear which files
 * and folders may not be read, and are not in it as they are.
 */
export async function withTree<T>(
  repository: Repository,
  scratch: string,
  use: (tree: string, unread: readonly string[]) => Promise<T>,
): Promise<T> {
  try {
    await copyOfIndex(repository, scratch);
    const unread = await addTo(repository, scratch, ['--all', '--ignore-errors', '--', '.']);
    await forgetIn(repository, scratch, OURS);
    return await use(await treeIn(repository, scratch), unread);
  } finally {
    rmSync(scratch, { force: true });
    rmSync(`${scratch}.lock`, { force: true });
  }
}

/** Adds files to an index of ours, and tells which may not be read. */
export async function addTo(
  repository: Repository,
  index: string,
  what: readonly string[],
): Promise<readonly string[]> {
  const env = { GIT_INDEX_FILE: index, ...IN_ENGLISH };
  const add = (how: readonly string[]) => ask(repository, [...CAREFULLY, 'add', ...how, ...what], env);
  const added = await add(['--sparse']);
  // Before 2.34 git did not know the word.
  const { code, stderr } = added.code === USAGE ? await add([]) : added;
  const lines = stderr.split('\n');
  const isHarmless = code === 1 && lines.every((line) => !line.startsWith('error:') || HARMLESS.test(line));
  if (code !== 0 && !isHarmless) throw failed(['add'], { ...added, code, stderr });
  return lines.flatMap((line) => UNREADABLE.exec(line)?.[1] ?? []);
}

/** The words that we look for; a locale would have a say in the user's filters, too. */
const IN_ENGLISH = { LANGUAGE: 'en' };
const USAGE = 129;
/** What nobody could add: it may not be read, is gone by now, has no commit yet, or is nothing for git. */
const HARMLESS = new RegExp(
  [
    String.raw`^error: (?:open|readlink)\(".*"\): (?:Permission denied|No such file or directory)$`,
    `^error: unable to index file '`,
    `^error: '.*' does not have a commit checked out$`,
    '^error: .*: can only add regular files, symbolic links or git-directories$',
  ].join('|'),
);
const UNREADABLE = /^(?:error: open\("|warning: could not open directory ')(.*)["']\)?: Permission denied$/;

/** Takes files out of an index. `git rm` would refuse those outside of a sparse checkout. */
export async function forgetIn(
  repository: Repository,
  index: string,
  pathspecs: readonly string[],
): Promise<void> {
  const env = { GIT_INDEX_FILE: index };
  const listed = await tell(repository, ['ls-files', '--cached', '-z', '--', ...pathspecs], env);
  if (listed === '') return;
  const order = [...CAREFULLY, 'update-index', '--force-remove', '-z', '--stdin'];
  const answer = await ask(repository, order, env, { input: Buffer.from(listed, 'latin1') });
  if (answer.code !== 0) throw failed(order, answer);
}

/** The tree that an index stands for. */
export async function treeIn(repository: Repository, index: string): Promise<string> {
  return (
    await tell(repository, [...CAREFULLY, 'write-tree', '--missing-ok'], { GIT_INDEX_FILE: index })
  ).trim();
}

/** A monitor is a program of somebody's own, and the others are kept beside an index that is thrown away. */
export const CAREFULLY: readonly string[] = [
  // Nor is it anything for a hook.
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'core.splitIndex=false',
  'advice.addEmbeddedRepo=false',
  // What is checked out in a submodule is its own affair.
  'submodule.recurse=false',
  // To put on record what cannot be given back exactly is better than to put nothing on record.
  'core.safecrlf=false',
].flatMap((setting) => ['-c', setting]);
const OURS = [':(top,glob)**/.ralph/**', ':(top,glob)**/.ralph'];

/** The user's index, at a place where nobody else writes. */
export async function copyOfIndex(repository: Repository, scratch: string): Promise<void> {
  const path = await whereIs(repository, ['--git-path', 'index']);
  copyIndex(Buffer.from(path, 'latin1'), scratch);
}

/** With its time, by which git knows the files that it must look into: those changed when it was written, or later. */
function copyIndex(index: Buffer, scratch: string): void {
  mkdirSync(dirname(scratch), { recursive: true });
  // Of somebody who was killed.
  rmSync(scratch, { force: true });
  rmSync(`${scratch}.lock`, { force: true });
  if (!existsSync(index)) return;
  try {
    const { atimeMs, mtimeMs } = statSync(index);
    copyFileSync(index, scratch);
    utimesSync(scratch, atimeMs / 1000, Math.floor(mtimeMs) / 1000);
  } catch (error) {
    throw new GitError(
      `the index cannot be copied: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/**
 * Puts a tree on record under a name in `refs/ralph/`: as a commit on another record or else on what is checked out now,
 * so that it is known what it differs from, and nothing of it is thrown away.
 */
export async function recordTree(
  repository: Repository,
  { ref, tree, message, trailers = [], on }: NewRecord,
): Promise<string> {
  const base = on ?? (await resolve(repository, 'HEAD^{commit}'));
  const parent = base === null ? [] : ['-p', base];
  const words = ['-m', message, ...(trailers.length === 0 ? [] : ['-m', trailers.join('\n')])];
  const commit = await tell(repository, ['commit-tree', tree, ...parent, ...words], OURSELVES);
  await tell(repository, [...CAREFULLY, 'update-ref', ref, commit.trim()]);
  return commit.trim();
}

export interface NewRecord {
  readonly ref: string;
  readonly tree: string;
  readonly message: string;
  /** `Ralph-Iteration: 7`. */
  readonly trailers?: readonly string[];
  /** The record before it. */
  readonly on?: string | null;
}

/** It is nobody's work. */
const OURSELVES = {
  GIT_AUTHOR_NAME: 'ralph',
  GIT_AUTHOR_EMAIL: 'ralph@localhost',
  GIT_COMMITTER_NAME: 'ralph',
  GIT_COMMITTER_EMAIL: 'ralph@localhost',
};

/** The tree of a record and the commit that it stands on, which is the empty tree before the first one. */
export async function readRecord(
  repository: Repository,
  ref: string,
): Promise<{ readonly tree: string; readonly base: string }> {
  const tree = await resolve(repository, `${ref}^{tree}`);
  if (tree === null) throw new GitError(`${ref} is gone, which says how the loop began`);
  return { tree, base: (await resolve(repository, `${ref}^1`)) ?? (await emptyTree(repository)) };
}

export async function emptyTree(repository: Repository): Promise<string> {
  return (await tell(repository, ['hash-object', '-t', 'tree', '/dev/null'])).trim();
}

/** Where the records of a loop are: `start`, and a number for each checkpoint. */
export function recordName(loop: string, what: string): string {
  return `refs/ralph/${loop.replaceAll(/\.{2,}/g, '.')}/${what}`;
}
