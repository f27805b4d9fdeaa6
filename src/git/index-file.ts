/** The index as a file: what it tells without running git, remembered per folder until the file changes, and the copies of it. */
import {
  closeSync,
  lstatSync,
  readFileSync,
  readSync,
  fstatSync,
  futimesSync,
  writeFileSync,
  rmSync,
} from 'node:fs';
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
function stampOf(path: string): string {
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

/**
 * Copies an index with its time: git reads the files that are not older than it, because they may have changed since. Follows no
 * link at either end.
 */
export function copyIndexFile(from: string | Buffer, to: string): void {
  const source = openRegular(from, 'read');
  try {
    const { atimeMs, mtimeMs } = fstatSync(source);
    const target = openRegular(to, 'create');
    try {
      writeFileSync(target, readFileSync(source));
      futimesSync(target, atimeMs / 1000, Math.floor(mtimeMs) / 1000);
    } finally {
      closeSync(target);
    }
  } finally {
    closeSync(source);
  }
}

/** An index that was left in a scratch file: a copy of the user's index, with the files that were untracked then. */
interface ScratchIndex {
  /** The stamp of the user's index that it is a copy of. */
  readonly of: string;
  readonly stamp: string;
  /** From the workspace, in Latin-1. */
  readonly untracked: readonly string[];
}

/** Takes out the index in a scratch file, if it and the user's index are as they were; else null. */
export function takeScratchIndex(scratch: string, index: IndexFile | null): ScratchIndex | null {
  const left = scratchIndexes.get(scratch);
  scratchIndexes.delete(scratch);
  const isCurrent = left?.of === index?.stamp && left?.stamp === stampOfScratch(scratch);
  return isCurrent ? (left ?? null) : null;
}

/** Keeps the index in a scratch file for the next look at the working tree. */
export function keepScratchIndex(scratch: string, left: Omit<ScratchIndex, 'stamp'>): void {
  const stamp = stampOfScratch(scratch);
  if (stamp !== null) scratchIndexes.set(scratch, { ...left, stamp });
}

export function isScratchKept(scratch: string): boolean {
  return scratchIndexes.has(scratch);
}

/** Removes an index that was kept. */
export function dropScratchIndex(scratch: string): void {
  scratchIndexes.delete(scratch);
  // `rmSync` loads more of Node.js, and most often there is none.
  if (lstatSync(scratch, { throwIfNoEntry: false }) !== undefined) rmSync(scratch, { force: true });
}

/** Changes whenever git writes the index; null if there is none. */
function stampOfScratch(scratch: string): string | null {
  try {
    return stampOf(Buffer.from(scratch).toString('latin1'));
  } catch {
    return null;
  }
}

/** By scratch file. */
const scratchIndexes = new Map<string, ScratchIndex>();
