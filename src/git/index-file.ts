/** What the index file itself tells without running git. Remembered per folder until the file changes. */
import { closeSync, lstatSync, readFileSync, readSync } from 'node:fs';
import { openRegular } from '../files/files.ts';
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
}

/** The user's index; null if there is none. */
export async function indexFile(repository: Repository): Promise<IndexFile | null> {
  const path = await indexPath(repository);
  try {
    const stamp = stampOf(path);
    const known = knownIndexes.get(path);
    if (known?.stamp === stamp) return known;
    // Neither a link nor a FIFO that an agent has put in its place.
    const file = openRegular(Buffer.from(path, 'latin1'), 'read');
    const found = { path, stamp, ...inspect(contentOf(file)) };
    knownIndexes.set(path, found);
    return found;
  } catch {
    return null;
  }
}

function contentOf(file: number): Buffer {
  try {
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/** Where the user's index is, in Latin-1. Git would say where a link in its place leads. */
export async function indexPath(repository: Repository): Promise<string> {
  if (repository.env['GIT_INDEX_FILE'] !== undefined) return gitPath(repository, ['--git-path', 'index']);
  return `${await gitPath(repository, ['--absolute-git-dir'])}/index`;
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
    const file = openRegular(path, 'read');
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

function inspect(index: Buffer): Omit<IndexFile, 'path' | 'stamp'> {
  // A split index has its entries in another file, and version 4 does not have whole names.
  const isIncomplete = index.includes('link');
  const hasWholeNames = index.length >= HEADER_BYTES && index.readUInt32BE(4) < 4;
  return {
    entries: index.length >= HEADER_BYTES ? index.readUInt32BE(8) : 0,
    mayHaveNested: isIncomplete || index.includes(GITLINK_MODE_BYTES),
    mayHaveRalph: isIncomplete || !hasWholeNames || index.includes('.ralph'),
  };
}

/** `DIRC`, the version and the number of entries. */
const HEADER_BYTES = 12;
/** The mode of an entry is a number of 32 bits: 160000, in octal. */
const GITLINK_MODE_BYTES = Buffer.from([0, 0, 0xe0, 0]);
