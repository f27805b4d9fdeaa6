/**
 * Writes a record as git would: a loose object for its commit, and a file for its ref. Starting git twice for these two small
 * files would take most of the time of a checkpoint.
 *
 * 1. Only in a repository without settings that change how git writes them, and with a parent that is a loose object. The
 *    caller leaves everything else to git, such as shared repositories and refs that are not stored as files.
 * 2. Both files are written under another name and moved, as git does: an interrupt leaves nothing but a file that git
 *    removes with its next maintenance.
 * 3. A ref is replaced, never followed: an agent cannot make Ralph move a branch.
 */
import { lstatSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GitError, type Repository } from './git.ts';
import { gitObject, isLoose, objectsFolder, writeLoose } from './loose-object.ts';
import { isPlain } from './plain-repository.ts';
import { commonFolder, readCommit, rememberCommit } from './read-ref.ts';
import { writeNew } from './write-new.ts';

/** Writes the commit of a record and returns its id; null if only git can do it. */
export async function writeCommit(
  repository: Repository,
  { tree, parent, person, message }: CommitText,
): Promise<string | null> {
  if (!(await isPlain(repository))) return null;
  const objects = await objectsFolder(repository);
  // Git would refuse any other parent, and its maintenance would fail.
  if (!isLoose(objects, parent) || !(await isCommit(repository, parent))) return null;
  const who = `${person} ${gitTime(new Date())}`;
  const text = `tree ${tree}\nparent ${parent}\nauthor ${who}\ncommitter ${who}\n\n${message}`;
  const algorithm = tree.length === SHA1_LENGTH ? 'sha1' : 'sha256';
  const commit = gitObject('commit', Buffer.from(text), algorithm);
  const { id } = commit;
  try {
    writeLoose(objects, commit);
    rememberCommit(id, { tree, parent });
    return id;
  } catch {
    return null;
  }
}

async function isCommit(repository: Repository, id: string): Promise<boolean> {
  try {
    return (await readCommit(repository, id)).tree !== '';
  } catch (error) {
    if (error instanceof GitError) return false;
    throw error;
  }
}

export interface CommitText {
  readonly tree: string;
  readonly parent: string;
  /** `name <email>`. */
  readonly person: string;
  /** Ends with a newline. */
  readonly message: string;
}

/** Points a ref of Ralph at a commit; false if only git can do it. */
export async function writeRef(repository: Repository, ref: string, commit: string): Promise<boolean> {
  if (!(await isPlain(repository))) return false;
  const common = await commonFolder(repository);
  const path = join(common, ref);
  const lock = `${path}.lock`;
  try {
    const folders = ['refs', 'refs/ralph', dirname(ref)].map((name) => join(common, name));
    mkdirSync(dirname(path), { recursive: true });
    if (!folders.every((folder) => lstatSync(folder).isDirectory())) return false;
    writeNew(lock, Buffer.from(`${commit}\n`), 0o666);
  } catch {
    // Another process may hold the lock, so it stays.
    return false;
  }
  try {
    renameSync(lock, path);
    return true;
  } catch {
    rmSync(lock, { force: true });
    return false;
  }
}

const SHA1_LENGTH = 40;

/** `1700000000 +0100`. */
function gitTime(now: Date): string {
  const offset = -now.getTimezoneOffset();
  const [hours, minutes] = [Math.trunc(Math.abs(offset) / 60), Math.abs(offset) % 60];
  const zone = [hours, minutes].map((part) => String(part).padStart(2, '0')).join('');
  return `${Math.floor(now.getTime() / 1000)} ${offset < 0 ? '-' : '+'}${zone}`;
}
