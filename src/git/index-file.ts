/** What the index file itself tells without running git. Remembered per folder until the file changes. */
import { createHash } from 'node:crypto';
import { closeSync, lstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { gitPath, type Repository } from './git.ts';

export interface IndexFile {
  /** In Latin-1. */
  readonly path: string;
  /** Changes with the file. */
  readonly stamp: string;
  /** The number of its entries. */
  readonly entries: number;
  /** Whether it may have repositories as entries, such as submodules. */
  readonly mayHaveNested: boolean;
  /** Whether it may have `.ralph` folders. */
  readonly mayHaveRalph: boolean;
  /** Whether it may have unresolved conflicts. */
  readonly mayHaveConflicts: boolean;
}

/** The user's index; null if there is none. */
export async function indexFile(repository: Repository): Promise<IndexFile | null> {
  const path = await gitPath(repository, ['--git-path', 'index']);
  try {
    const stamp = stampOf(path);
    const known = knownIndexes.get(path);
    if (known?.stamp === stamp) return known;
    // Reading a FIFO in its place would block this process.
    if (!statSync(Buffer.from(path, 'latin1')).isFile()) return null;
    const found = { path, stamp, ...inspect(readFileSync(Buffer.from(path, 'latin1'))) };
    knownIndexes.set(path, found);
    return found;
  } catch {
    return null;
  }
}

const knownIndexes = new Map<string, IndexFile>();

/** Identifies the content of a file; the path is in Latin-1. */
export function stampOf(path: string): string {
  const { ino, size, mtimeNs } = lstatSync(Buffer.from(path, 'latin1'), { bigint: true });
  return [ino, size, mtimeNs].join();
}

/** The number of entries in an index file; 0 if it cannot be read. */
export function entriesIn(path: string): number {
  const header = Buffer.alloc(HEADER_BYTES);
  try {
    const file = openSync(path, 'r');
    try {
      readSync(file, header);
    } finally {
      closeSync(file);
    }
    return header.readUInt32BE(8);
  } catch {
    return 0;
  }
}

/** `DIRC`, the version and the number of entries. */
const HEADER_BYTES = 12;

function inspect(index: Buffer): Omit<IndexFile, 'path' | 'stamp'> {
  // A split index has its entries in another file, and version 4 does not have whole names.
  const isIncomplete = index.includes('link');
  const hasWholeNames = index.length >= HEADER_BYTES && index.readUInt32BE(4) < 4;
  return {
    entries: index.length >= HEADER_BYTES ? index.readUInt32BE(8) : 0,
    mayHaveNested: isIncomplete || index.includes(GITLINK_MODE_BYTES),
    mayHaveRalph: isIncomplete || !hasWholeNames || index.includes('.ralph'),
    mayHaveConflicts: isIncomplete || !hasWholeNames || !isWithoutStages(index),
  };
}

/** Whether all entries are read, and none is a side of a conflict. */
function isWithoutStages(index: Buffer): boolean {
  return entriesOf(index)?.every(({ flags }) => (flags & STAGE_BITS) === 0) ?? false;
}

/**
 * Identifies the entries of an index, whatever it remembers about the files on disk; null if it cannot tell, or if there are
 * many entries. Two indexes with equal entries have the same tree.
 */
export function hashOfEntries(path: string): string | null {
  try {
    if (statSync(path).size > MAX_HASHED_BYTES) return null;
    const index = readFileSync(path);
    // A split index has its entries in another file.
    const entries = index.includes('link') ? null : entriesOf(index);
    if (entries === null) return null;
    const parts = entries.flatMap(({ at, end }) => [
      index.subarray(at + MODE_AT, at + MODE_AT + 4),
      index.subarray(at + ID_AT, end + 1),
    ]);
    return createHash('sha256').update(Buffer.concat(parts)).digest('hex');
  } catch {
    return null;
  }
}

const MAX_HASHED_BYTES = 2 ** 18;

interface Entry {
  readonly at: number;
  /** Where its name ends, with a NUL. */
  readonly end: number;
  readonly flags: number;
}

/** The entries of an index with ids of 20 bytes and whole names; null for any other. */
function entriesOf(index: Buffer): readonly Entry[] | null {
  if (index.length < HEADER_BYTES || index.readUInt32BE(4) >= 4) return null;
  const count = index.readUInt32BE(8);
  const entries: Entry[] = [];
  let at = HEADER_BYTES;
  while (entries.length < count) {
    if (at + FLAGS_AT + 2 > index.length) return null;
    const flags = index.readUInt16BE(at + FLAGS_AT);
    const nameAt = at + FLAGS_AT + ((flags & EXTENDED_BIT) === 0 ? 2 : 4);
    const length = flags & NAME_BITS;
    const end = length < NAME_BITS ? nameAt + length : index.indexOf(0, nameAt);
    entries.push({ at, end, flags });
    // Entries end with one to eight NULs.
    at += (end - at + 8) & ~7;
  }
  // Extensions or the hash of the file follow.
  const isEnd =
    at === index.length - HASH_BYTES || /^[A-Za-z]{4}$/.test(index.toString('latin1', at, at + 4));
  return isEnd ? entries : null;
}

/** Before it, an entry has the times and the place of a file. */
const MODE_AT = 24;
/** Before it, an entry has the owner and the size of a file. */
const ID_AT = 40;
const HASH_BYTES = 20;
const FLAGS_AT = ID_AT + HASH_BYTES;
const STAGE_BITS = 0x3000;
const EXTENDED_BIT = 0x4000;
const NAME_BITS = 0x0fff;

/** The mode of an entry is a number of 32 bits: 160000, in octal. */
const GITLINK_MODE_BYTES = Buffer.from([0, 0, 0xe0, 0]);
