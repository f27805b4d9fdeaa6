/**
 * The files of a recorded tree, compared with those on disk. Contents are hashed here and not by git, because an agent can
 * change git's index, attributes and settings, and with them what git takes for unchanged. Paths are in Latin-1.
 */
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, readSync } from 'node:fs';
import { execGit, GitError, gitFailure, gitOutput, type Repository } from './git.ts';

export interface RecordedFile {
  /** From the top of the repository. */
  readonly path: string;
  /** As git records it: `100644`, `100755` or `120000`. */
  readonly mode: string;
  /** The id of its content. */
  readonly object: string;
}

/** The files of a tree, without nested repositories, and a hash of the whole list. */
export async function listTree(
  repository: Repository,
  tree: string,
): Promise<{ readonly files: readonly RecordedFile[]; readonly hash: string }> {
  const listed = await gitOutput(repository, ['ls-tree', '-r', '-z', '--full-tree', tree]);
  const files = listed
    .split('\0')
    .slice(0, -1)
    .flatMap((line) => {
      const tab = line.indexOf('\t');
      const [mode = '', type = '', object = ''] = line.slice(0, tab).split(' ');
      return type === 'blob' ? [{ path: line.slice(tab + 1), mode, object }] : [];
    });
  return { files, hash: createHash('sha256').update(listed, 'latin1').digest('hex') };
}

/** Compares files with their records, and remembers which were unchanged when it last looked. */
export class FileComparison {
  readonly #top: string;
  readonly #unchanged = new Map<string, string>();

  /** `top` is the top of the working tree. */
  constructor(top: string) {
    this.#top = top;
  }

  compare(file: RecordedFile): 'same' | 'changed' | 'gone' {
    const path = bytes(`${this.#top}/${file.path}`);
    const found = stampOf(path);
    if (found === null) return 'gone';
    const known = `${file.object} ${file.mode} ${found.stamp}`;
    if (this.#unchanged.get(file.path) === known) return 'same';
    this.#unchanged.delete(file.path);
    if (!isAsRecorded(path, file)) return 'changed';
    // A file that changed a moment ago can change again within the same tick of its clock.
    if (Date.now() - found.changedAt > RACY_MS) this.#unchanged.set(file.path, known);
    return 'same';
  }
}

const RACY_MS = 2000;

/** Inode, size and times: an agent cannot set the time of the last change. Null if there is no such file. */
function stampOf(path: Buffer): { readonly stamp: string; readonly changedAt: number } | null {
  try {
    const { ino, size, mode, mtimeNs, ctimeNs } = lstatSync(path, { bigint: true });
    const stamp = [ino, size, mode, mtimeNs, ctimeNs].join(' ');
    return { stamp, changedAt: Number(ctimeNs / 1_000_000n) };
  } catch {
    return null;
  }
}

/** The mode and the content of a file on disk as git would record them without any conversion; null if it is no file. */
export function recordOf(
  top: string,
  { path, object }: RecordedFile,
): Pick<RecordedFile, 'mode' | 'object'> | null {
  const read = readFile(bytes(`${top}/${path}`));
  return read === null ? null : { mode: read.mode, object: objectId(read.content, object.length) };
}

/** The content of a regular file; null if there is none. No symbolic link is followed and no pipe waited for. */
export function readRegularFile(top: string, path: string): Buffer | null {
  const read = readFile(bytes(`${top}/${path}`));
  return read === null || read.mode === LINK ? null : read.content;
}

function isAsRecorded(path: Buffer, { mode, object }: RecordedFile): boolean {
  const read = readFile(path);
  if (read === null || read.mode !== mode) return false;
  if (objectId(read.content, object.length) === object) return true;
  // Where git converts line ends, the content on disk has others than the record.
  if (mode === LINK || !read.content.includes('\r\n')) return false;
  const converted = Buffer.from(read.content.toString('latin1').replaceAll('\r\n', '\n'), 'latin1');
  return objectId(converted, object.length) === object;
}

const LINK = '120000';

function readFile(path: Buffer): { readonly mode: string; readonly content: Buffer } | null {
  try {
    if (lstatSync(path).isSymbolicLink()) return { mode: LINK, content: readlinkSync(path, 'buffer') };
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const found = fstatSync(file);
      if (!found.isFile()) return null;
      const mode = (found.mode & 0o100) === 0 ? '100644' : '100755';
      return { mode, content: readAll(file, found.size) };
    } finally {
      closeSync(file);
    }
  } catch {
    return null;
  }
}

function readAll(file: number, size: number): Buffer {
  const content = Buffer.alloc(size);
  let at = 0;
  while (at < size) {
    const count = readSync(file, content, at, size - at, at);
    if (count === 0) break;
    at += count;
  }
  return content.subarray(0, at);
}

/** The id that git gives to a content; its length says by which hash. */
function objectId(content: Buffer, length: number): string {
  const hash = createHash(length === 64 ? 'sha256' : 'sha1');
  return hash.update(`blob ${content.length}\0`).update(content).digest('hex');
}

/** The contents of objects, by id. One that is missing, or is not what its id says, is left out. */
export async function readObjects(
  repository: Repository,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Buffer>> {
  const contents = new Map<string, Buffer>();
  if (ids.length === 0) return contents;
  const args = ['cat-file', '--batch'];
  const answer = await execGit(repository, args, {}, { input: `${[...new Set(ids)].join('\n')}\n` });
  if (answer.code !== 0) throw gitFailure(args, answer);
  const { stdout } = answer;
  for (let at = 0; at < stdout.length;) {
    const end = stdout.indexOf('\n', at);
    if (end < 0) break;
    const [id = '', type, size] = stdout.toString('latin1', at, end).split(' ');
    at = end + 1;
    if (size === undefined) continue;
    const content = stdout.subarray(at, at + Number(size));
    at += Number(size) + 1;
    // An agent could have put another content under this id.
    if (type === 'blob' && objectId(content, id.length) === id) contents.set(id, content);
  }
  return contents;
}

/** Stores files as they are on disk, without any conversion, and returns their ids in the same order. */
export async function storeExactly(
  repository: Repository,
  paths: readonly string[],
): Promise<readonly string[]> {
  if (paths.length === 0) return [];
  const args = ['hash-object', '-w', '--no-filters', '--stdin-paths'];
  if (paths.some((path) => path.includes('\n'))) throw new GitError('a file name contains a line break');
  const input = Buffer.from(paths.map((path) => `${path}\n`).join(''), 'latin1');
  const answer = await execGit(repository, args, {}, { input });
  if (answer.code !== 0) throw gitFailure(args, answer);
  return answer.stdout.toString('latin1').split('\n').slice(0, -1);
}

function bytes(path: string): Buffer {
  return Buffer.from(path, 'latin1');
}
