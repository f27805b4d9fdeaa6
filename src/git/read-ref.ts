/**
 * Finds commits by their refs without running git, where git would find the same: a ref that is a file of its own comes before
 * a packed one. Packed refs, other ways to store refs, and everything unusual are left to git.
 */
import { join } from 'node:path';
import { textOf } from '../files/files.ts';
import { execGit, GitError, gitFailure, gitPath, resolveRevision, utf8, type Repository } from './git.ts';

/** The commit that is checked out; null before the first commit. */
export async function headCommit(repository: Repository): Promise<string | null> {
  return (await readRef(repository, 'HEAD')) ?? resolveRevision(repository, 'HEAD^{commit}');
}

/** The commit of a record of Ralph; null if there is none. */
export async function recordedCommit(repository: Repository, ref: string): Promise<string | null> {
  return (await readRef(repository, ref)) ?? resolveRevision(repository, ref);
}

/** The tree and the first parent of a commit. Remembered: a commit never changes. */
export async function readCommit(repository: Repository, commit: string): Promise<Commit> {
  const known = knownCommits.get(commit);
  if (known !== undefined) return known;
  const args = ['cat-file', 'commit', commit];
  const answer = await execGit(repository, args);
  if (answer.code !== 0) throw gitFailure(args, answer);
  const [tree, parent] = answer.stdout.toString('latin1').split('\n', 2);
  const read = { tree: idAfter('tree', tree), parent: idAfter('parent', parent) };
  if (read.tree === null) throw new GitError(`the commit ${commit} cannot be read`);
  return rememberCommit(commit, { tree: read.tree, parent: read.parent });
}

export interface Commit {
  readonly tree: string;
  readonly parent: string | null;
}

/** Remembers a commit that was read or written. */
export function rememberCommit(commit: string, read: Commit): Commit {
  if (knownCommits.size >= MAX_KNOWN) knownCommits.clear();
  knownCommits.set(commit, read);
  return read;
}

const knownCommits = new Map<string, Commit>();
const MAX_KNOWN = 1000;

function idAfter(word: string, line = ''): string | null {
  return line.startsWith(`${word} `) ? idIn(line.slice(word.length + 1)) : null;
}

/** The folder that all worktrees of a repository share. */
export async function commonFolder(repository: Repository): Promise<string> {
  return utf8(await gitPath(repository, ['--git-common-dir']));
}

/** The id that `HEAD` or a ref has; null if only git can tell. */
async function readRef(repository: Repository, name: string): Promise<string | null> {
  try {
    if (name !== 'HEAD') return idIn(lineIn(join(await commonFolder(repository), name)));
    const head = lineIn(join(utf8(await gitPath(repository, ['--absolute-git-dir'])), 'HEAD'));
    const branch = BRANCH.exec(head)?.[1];
    return branch === undefined ? idIn(head) : await readRef(repository, branch);
  } catch (error) {
    // Git says what is wrong.
    if (error instanceof GitError) return null;
    throw error;
  }
}

/** A branch with a name that git accepts: nothing in it leads to another folder. */
const BRANCH = /^ref: (refs\/heads(?:\/(?!\.)[^/\s]+)+)$/;

function idIn(line: string): string | null {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(line) ? line : null;
}

/** The only line of a file, without its end; empty if there is none. */
function lineIn(path: string): string {
  const text = textOf(path, MAX_BYTES) ?? '';
  return text.endsWith('\n') ? text.slice(0, -1) : '';
}

/** Longer than a ref can be. */
const MAX_BYTES = 5000;
