/**
 * Opening files that others may have put there: an agent, a repository, another process.
 *
 * 1. A symbolic link at the path is not followed: opening it fails.
 * 2. Only regular files are opened: a FIFO, a device or a folder fails at once and never blocks.
 * 3. Reads are bounded: a file that is longer than the caller allows is not read at all.
 *
 * `below.ts` does the same for the folders on the way to a file; `replace-file.ts` writes a whole file.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  type Stats,
  mkdirSync,
  realpathSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/** Modes of what only this user may read. */
export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;

/** What is at a path is no regular file, or is too long to be read. */
export class UnusableFile extends Error {
  readonly path: string;
  /** For a message that names the path elsewhere. */
  readonly reason: string;

  constructor(path: string, what: string) {
    super(`${path} is ${what}`);
    this.path = path;
    this.reason = `it is ${what}`;
  }
}

/** The content of a regular file; null if there is none. Throws `UnusableFile` for anything else. */
export function readRegular(path: string, maxBytes: number = MAX_BYTES): Buffer | null {
  let descriptor;
  try {
    // Much cheaper than catching what `open` throws, and most of these files are missing.
    if (!isTaken(path)) return null;
    descriptor = open(path, 'read');
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return null;
    throw error;
  }
  try {
    const size = sizeOf(descriptor, path);
    if (size > maxBytes) throw new UnusableFile(path, `too long: ${size} bytes (maximum ${maxBytes})`);
    return readAll(descriptor, size);
  } finally {
    closeSync(descriptor);
  }
}

/** The text of a regular file; null if there is none, or if it cannot be read. */
export function textOf(path: string, maxBytes: number = MAX_BYTES): string | null {
  try {
    return readRegular(path, maxBytes)?.toString('utf8') ?? null;
  } catch {
    return null;
  }
}

const MAX_BYTES = 64 * 1024 * 1024;

/** Opens a regular file; `append` and `lock` create it where it is missing, `create` demands that it is missing. */
export function openRegular(
  path: string | Buffer,
  way: keyof typeof WAYS,
  mode: number = PRIVATE_FILE,
): number {
  const descriptor = open(path, way, mode);
  try {
    sizeOf(descriptor, path);
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** Opens whatever is at a path and does not block. */
function open(path: string | Buffer, way: keyof typeof WAYS, mode?: number): number {
  try {
    return openSync(path, WAYS[way] | constants.O_NOFOLLOW | constants.O_NONBLOCK, mode);
  } catch (error) {
    const what = UNUSABLE.get(codeOf(error) ?? '');
    throw what === undefined ? error : new UnusableFile(String(path), what);
  }
}

/** The size of a regular file; throws for anything else. */
function sizeOf(descriptor: number, path: string | Buffer): number {
  const found = fstatSync(descriptor);
  if (!found.isFile()) throw new UnusableFile(String(path), 'not a regular file');
  return found.size;
}

const { O_RDONLY, O_RDWR, O_WRONLY, O_APPEND, O_CREAT, O_EXCL } = constants;
const WAYS: Readonly<Record<'read' | 'append' | 'lock' | 'create', number>> = {
  read: O_RDONLY,
  append: O_RDWR | O_APPEND | O_CREAT,
  lock: O_RDWR | O_CREAT,
  create: O_WRONLY | O_CREAT | O_EXCL,
};

/** What opening says of something that is no regular file: Linux has ELOOP for a link, the BSDs EMLINK or EFTYPE. */
const UNUSABLE: ReadonlyMap<string, string> = new Map([
  ['ELOOP', 'a symbolic link'],
  ['EMLINK', 'a symbolic link'],
  ['EFTYPE', 'a symbolic link'],
  ['ENXIO', 'a FIFO or a socket'],
  ['EISDIR', 'a folder'],
]);

/** Reads at most `size` bytes of a file, fewer at its end. */
export function readAll(descriptor: number, size: number, from: number = 0): Buffer {
  const content = Buffer.alloc(size);
  let at = 0;
  while (at < size) {
    const count = readSync(descriptor, content, at, size - at, from + at);
    if (count === 0) break;
    at += count;
  }
  return content.subarray(0, at);
}

/** The names in a folder, sorted; none if it cannot be read. */
export function namesIn(folder: string): readonly string[] {
  try {
    // Much cheaper than an error, and many of these folders are missing.
    return existsSync(folder) ? readdirSync(folder).toSorted() : [];
  } catch {
    return [];
  }
}

/** What is at a path, where a link is itself; null if there is nothing, or if it cannot be looked at. */
export function foundAt(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch {
    return null;
  }
}

/** Whether anything is at a path, also a link that leads nowhere. */
export function isTaken(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Calls `write`, which writes to a path by its descriptor: then an error of the system does not say where. */
export function naming<T>(path: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    if (codeOf(error) !== undefined && error instanceof Error) Object.assign(error, { path });
    throw error;
  }
}

/** The code of an error of the file system. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

/** Makes a folder and its parents. `mkdirSync` with `recursive` never returns below a folder that refuses any, such as /proc. */
export function makeFolders(path: string, mode: number = 0o777): void {
  if (existsSync(path)) return;
  if (!existsSync(dirname(path))) makeFolders(dirname(path), mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/** The path without symbolic links, even if its last parts do not exist. */
export function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), relative(parent, resolve(path)));
  }
}

/** Whether the path is the folder, or below it. Both are whole paths without `..`. */
export function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

/** Whether a path is below a folder. */
export function isInside(folder: string, path: string): boolean {
  const route = relative(folder, path);
  return route !== '' && route !== '..' && !route.startsWith('../');
}

/** The value in a JSON file; null if the file is missing, too large, not a regular file or not JSON. */
export function readJsonFile(path: string, maxBytes: number = MAX_JSON_BYTES): unknown {
  try {
    const content = readRegular(path, maxBytes);
    return content === null ? null : JSON.parse(content.toString('utf8'));
  } catch {
    return null;
  }
}

/** Ralph's own notes are small; a larger file is not one of them. */
const MAX_JSON_BYTES = 8 * 2 ** 20;
