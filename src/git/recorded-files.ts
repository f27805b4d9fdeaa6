/**
 * The files of a recorded tree, compared with those on disk. Contents are hashed here and not by git, because an agent can
 * change git's index, attributes and settings, and with them what git takes for unchanged. Paths are in Latin-1.
 */
import { createHash, type Hash } from 'node:crypto';
import { closeSync, fstatSync, lstatSync, readlinkSync, readSync, type Stats } from 'node:fs';
import { openRegular, readAll } from '../files/files.ts';
import { GITLINK_MODE } from './differences.ts';
import { bytes, execGit, GitError, gitFailure, gitOutput, type Repository } from './git.ts';

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
    .map((line) => {
      const tab = line.indexOf('\t');
      const [mode = '', , object = ''] = line.slice(0, tab).split(' ');
      return { path: line.slice(tab + 1), mode, object };
    })
    .filter(({ mode }) => mode !== GITLINK_MODE);
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

/** The mode and the id of a file on disk as git would record them without any conversion; null if it is no file. */
export function recordOf(
  top: string,
  { path, object }: RecordedFile,
): Pick<RecordedFile, 'mode' | 'object'> | null {
  const found = identify(bytes(`${top}/${path}`), object.length);
  return found === null ? null : { mode: found.mode, object: found.object };
}

/** The content of a regular file; null if there is none, or it is too large to be read at once. */
export function readRegularFile(top: string, path: string): Buffer | null {
  return withFile(bytes(`${top}/${path}`), (file, { size }) =>
    size > MAX_AT_ONCE ? null : readAll(file, size),
  );
}

function isAsRecorded(path: Buffer, { mode, object }: RecordedFile): boolean {
  const found = identify(path, object.length);
  // Where git converts line ends, the content on disk has others than the record.
  return found !== null && found.mode === mode && (found.object === object || found.converted === object);
}

interface Identity {
  readonly mode: string;
  readonly object: string;
  /** The id with the line ends that git records where it converts them. */
  readonly converted: string | null;
}

function identify(path: Buffer, length: number): Identity | null {
  const link = linkAt(path);
  if (link !== null) return { mode: '120000', object: objectId(link, length), converted: null };
  return withFile(path, (file, { size, mode: permissions }) => {
    const mode = (permissions & 0o100) === 0 ? '100644' : '100755';
    if (size > MAX_AT_ONCE) return { mode, object: idOfLarge(file, size, length), converted: null };
    const content = readAll(file, size);
    const text = content.includes('\r\n') ? content.toString('latin1').replaceAll('\r\n', '\n') : null;
    const converted = text === null ? null : objectId(Buffer.from(text, 'latin1'), length);
    return { mode, object: objectId(content, length), converted };
  });
}

const MAX_AT_ONCE = 16 * 1024 * 1024;

function linkAt(path: Buffer): Buffer | null {
  try {
    return readlinkSync(path, 'buffer');
  } catch {
    return null;
  }
}

/** Opens a regular file; null if there is none. */
function withFile<T>(path: Buffer, use: (file: number, found: Stats) => T): T | null {
  try {
    const file = openRegular(path, 'read');
    try {
      return use(file, fstatSync(file));
    } finally {
      closeSync(file);
    }
  } catch {
    return null;
  }
}

function idOfLarge(file: number, size: number, length: number): string {
  const hash = hashOf(size, length);
  const part = Buffer.alloc(1024 * 1024);
  for (let at = 0, count = -1; count !== 0; at += count) {
    count = readSync(file, part, 0, part.length, at);
    hash.update(part.subarray(0, count));
  }
  return hash.digest('hex');
}

/** The id that git gives to a content. */
function objectId(content: Buffer, length: number): string {
  return hashOf(content.length, length).update(content).digest('hex');
}

/** The length of git's ids says by which hash they are made. */
function hashOf(size: number, length: number): Hash {
  return createHash(length === 64 ? 'sha256' : 'sha1').update(`blob ${size}\0`);
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
