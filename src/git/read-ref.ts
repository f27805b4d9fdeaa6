/**
 * Finds commits by their refs without running git, where git would find the same: a ref that is a file of its own comes before
 * a packed one. Packed refs, other ways to store refs, and everything unusual are left to git.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { readRegular, textOf } from '../files/files.ts';
import { execGit, GitError, gitFailure, gitPath, resolveRevision, utf8, type Repository } from './git.ts';
import { looseFile, objectsFolder } from './loose-object.ts';
import { isObjectId } from './object-id.ts';

/** The commit that is checked out; null before the first commit. */
export async function headCommit(repository: Repository): Promise<string | null> {
  return (await readRef(repository, 'HEAD')) ?? resolveRevision(repository, 'HEAD^{commit}');
}

/** The commit of a record of Ralph; null if there is none. */
export async function recordedCommit(repository: Repository, ref: string): Promise<string | null> {
  return (await readRef(repository, ref)) ?? resolveRevision(repository, ref);
}

/** The tree of a record of Ralph; null if there is none. */
export async function recordedTree(repository: Repository, ref: string): Promise<string | null> {
  const commit = await readRef(repository, ref);
  const text = commit === null ? null : await looseCommit(repository, commit);
  const tree = text === null ? null : idAfter('tree', text.split('\n', 1)[0]);
  return tree ?? resolveRevision(repository, `${ref}^{tree}`);
}

/** The tree and the first parent of a commit. Remembered: a commit never changes. */
export async function readCommit(repository: Repository, commit: string): Promise<Commit> {
  const known = knownCommits.get(commit);
  if (known !== undefined) return known;
  const [tree, parent] = (await commitText(repository, commit)).split('\n', 2);
  const read = { tree: idAfter('tree', tree), parent: idAfter('parent', parent) };
  if (read.tree === null) throw new GitError(`the commit ${commit} cannot be read`);
  return rememberCommit(commit, { tree: read.tree, parent: read.parent });
}

/** A commit as git stores it. */
export async function commitText(repository: Repository, commit: string): Promise<string> {
  const loose = await looseCommit(repository, commit);
  if (loose !== null) return loose;
  const args = ['cat-file', 'commit', commit];
  const answer = await execGit(repository, args);
  if (answer.code !== 0) throw gitFailure(args, answer);
  return answer.stdout.toString('utf8');
}

/** A commit that has a file of its own, as new ones have; null if git has to look for it. */
async function looseCommit(repository: Repository, commit: string): Promise<string | null> {
  // Git would show another object in its place.
  if (existsSync(join(await commonFolder(repository), 'refs', 'replace'))) return null;
  try {
    const packed = readRegular(looseFile(await objectsFolder(repository), commit), MAX_COMMIT_BYTES);
    if (packed === null) return null;
    const object = inflateSync(packed, { maxOutputLength: MAX_COMMIT_BYTES });
    const id = createHash(commit.length === SHA1_LENGTH ? 'sha1' : 'sha256')
      .update(object)
      .digest('hex');
    const text = object.toString('utf8');
    return id === commit && text.startsWith('commit ') ? text.slice(text.indexOf('\0') + 1) : null;
  } catch {
    return null;
  }
}

const MAX_COMMIT_BYTES = 2 ** 20;
const SHA1_LENGTH = 40;

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

/** The branch that is checked out; null for a detached HEAD, undefined if only git can tell. */
export async function checkedOutBranch(repository: Repository): Promise<string | null | undefined> {
  const head = lineIn(await headFile(repository));
  const branch = BRANCH.exec(head)?.[1];
  if (branch !== undefined) return branch.slice('refs/heads/'.length);
  return idIn(head) === null ? undefined : null;
}

async function headFile(repository: Repository): Promise<string> {
  return join(utf8(await gitPath(repository, ['--absolute-git-dir'])), 'HEAD');
}

/** The id that `HEAD` or a ref has; null if only git can tell. */
async function readRef(repository: Repository, name: string): Promise<string | null> {
  try {
    if (name !== 'HEAD') return idIn(lineIn(join(await commonFolder(repository), name)));
    const head = lineIn(await headFile(repository));
    const branch = BRANCH.exec(head)?.[1];
    return branch === undefined ? idIn(head) : await readRef(repository, branch);
  } catch (error) {
    // Git says what is wrong.
    if (error instanceof GitError) return null;
    throw error;
  }
}

/** A branch with a name that git accepts: nothing in it leads to another folder. */
const BRANCH = /^ref: (refs\/heads(?:\/(?!\.)[^/\s\p{Cc}]+)+)$/u;

function idIn(line: string): string | null {
  return isObjectId(line) ? line : null;
}

/** The only line of a file, without its end; empty if there is none. */
function lineIn(path: string): string {
  const text = textOf(path, MAX_BYTES) ?? '';
  return text.endsWith('\n') ? text.slice(0, -1) : '';
}

/** Longer than a ref can be. */
const MAX_BYTES = 5000;
