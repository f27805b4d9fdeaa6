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
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { randomUuid } from '../files/random-uuid.ts';
import { execGit, GitError, gitPath, utf8, type Repository } from './git.ts';
import { commonFolder, readCommit, rememberCommit } from './read-ref.ts';

/** Writes the commit of a record and returns its id; null if only git can do it. */
export async function writeCommit(
  repository: Repository,
  { tree, parent, person, message }: CommitText,
): Promise<string | null> {
  if (!(await isPlain(repository))) return null;
  const objects = utf8(await gitPath(repository, ['--git-path', 'objects']));
  // Git would refuse any other parent, and its maintenance would fail.
  if (!existsSync(objectFile(objects, parent)) || !(await isCommit(repository, parent))) return null;
  const who = `${person} ${gitTime(new Date())}`;
  const text = `tree ${tree}\nparent ${parent}\nauthor ${who}\ncommitter ${who}\n\n${message}`;
  const body = Buffer.from(text);
  const object = Buffer.concat([Buffer.from(`commit ${body.length}\0`), body]);
  const id = createHash(tree.length === SHA1_LENGTH ? 'sha1' : 'sha256')
    .update(object)
    .digest('hex');
  const path = objectFile(objects, id);
  try {
    mkdirSync(dirname(path), { recursive: true });
    // Git's maintenance removes files of this name that a dead process has left.
    const temporary = join(dirname(path), `tmp_obj_${randomUuid()}`);
    writeNew(temporary, deflateSync(object, { level: 1 }), 0o444);
    renameSync(temporary, path);
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

function writeNew(path: string, content: Buffer, mode: number): void {
  const file = openSync(path, 'wx', mode);
  try {
    for (let at = 0; at < content.length;) at += writeSync(file, content, at);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

const SHA1_LENGTH = 40;

function objectFile(objects: string, id: string): string {
  return join(objects, id.slice(0, 2), id.slice(2));
}

/** `1700000000 +0100`. */
function gitTime(now: Date): string {
  const offset = -now.getTimezoneOffset();
  const [hours, minutes] = [Math.trunc(Math.abs(offset) / 60), Math.abs(offset) % 60];
  const zone = [hours, minutes].map((part) => String(part).padStart(2, '0')).join('');
  return `${Math.floor(now.getTime() / 1000)} ${offset < 0 ? '-' : '+'}${zone}`;
}

/** Whether git would write objects and refs as this file does. */
async function isPlain(repository: Repository): Promise<boolean> {
  const { env } = repository;
  if (DATES.some((name) => env[name] !== undefined) || env['TZ'] !== process.env['TZ']) return false;
  const common = await commonFolder(repository);
  // Refs can be moved to another store at any time.
  if (existsSync(join(common, 'reftable'))) return false;
  const known = plainRepositories.get(common);
  if (known !== undefined) return known;
  const listed = await execGit(repository, ['config', '--null', '--get-regexp', SETTINGS]);
  const settings = listed.stdout.toString('latin1').split('\0').slice(0, -1);
  const isUsual = settings.every((entry) => /^core\.logallrefupdates\n(?:true|false)$/.test(entry));
  const answer = (listed.code === 0 || listed.code === 1) && isUsual;
  plainRepositories.set(common, answer);
  return answer;
}

const DATES = ['GIT_AUTHOR_DATE', 'GIT_COMMITTER_DATE'];
/** A setting that is changed later has no effect on the records of this process. */
const plainRepositories = new Map<string, boolean>();
const SETTINGS = [
  String.raw`^core\.(sharedrepository|logallrefupdates|createobject|fsync.*)$`,
  String.raw`^extensions\.(refstorage|compatobjectformat)$`,
  String.raw`^i18n\.commitencoding$`,
].join('|');
