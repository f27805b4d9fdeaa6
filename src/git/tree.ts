/**
 * The whole working tree as an object of git, and on record under a name of ours.
 *
 * 1. The user's index, branch and files are not touched: everything happens in a copy of the index.
 * 2. In it is what git tracks or would track, below the workspace; outside of it the tree is as the index has it. What
 *    git ignores is not in it, and neither is any `.ralph`.
 * 3. It works without any commit, and with any name of a file.
 */
import { copyFileSync, existsSync, mkdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { dirname } from 'node:path';
import { ask, failed, GitError, resolve, tell, type Repository } from './repository.ts';

/** Writes the tree as it is now and tells its name; `scratch` is a file that nobody else uses. */
export function writeTree(repository: Repository, scratch: string): Promise<string> {
  return withTree(repository, scratch, async (tree) => tree);
}

/** The same for whoever needs the index of that tree, too: until they are done, it is in `scratch`. */
export async function withTree<T>(
  repository: Repository,
  scratch: string,
  use: (tree: string) => Promise<T>,
): Promise<T> {
  const inCopy = { GIT_INDEX_FILE: scratch };
  try {
    await copyOfIndex(repository, scratch);
    const add = [...CAREFULLY, 'add', '--all', '--ignore-errors', '--', '.'];
    const added = await ask(repository, add, inCopy);
    // A file that may not be read cannot be committed by anybody; what could not be written would be missing.
    const isHarmless = added.code === 1 && !/no space left|quota/i.test(added.stderr);
    if (added.code !== 0 && !isHarmless) throw failed(['add'], added);
    // To look is much quicker than to remove nothing.
    if ((await tell(repository, ['ls-files', '--cached', '-z', '--', ...OURS], inCopy)) !== '') {
      const forget = ['rm', '-r', '-f', '--cached', '--quiet', '--ignore-unmatch', '--', ...OURS];
      await tell(repository, [...CAREFULLY, ...forget], inCopy);
    }
    return await use(await treeIn(repository, scratch));
  } finally {
    rmSync(scratch, { force: true });
    rmSync(`${scratch}.lock`, { force: true });
  }
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
].flatMap((setting) => ['-c', setting]);
const OURS = [':(top,glob)**/.ralph/**', ':(top,glob)**/.ralph'];

/** The user's index, at a place where nobody else writes. */
export async function copyOfIndex(repository: Repository, scratch: string): Promise<void> {
  const path = await tell(repository, ['rev-parse', '--path-format=absolute', '--git-path', 'index']);
  copyIndex(Buffer.from(path.replace(/\n$/, ''), 'latin1'), scratch);
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
