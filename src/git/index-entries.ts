/**
 * Reads the entries of a small index without git: of version 2 or 3, with ids of 20 bytes and whole names, and not split into
 * two files. The answer for any other is null, and the caller asks git.
 */
import { readFileSync, statSync } from 'node:fs';
import type { Difference } from './differences.ts';

export interface Entry {
  /** In Latin-1. */
  readonly path: string;
  /** `100644`. */
  readonly mode: string;
  readonly object: string;
  /** Zero where there is no conflict. */
  readonly stage: number;
  /** Whether it is only a promise to add the file, or of a file that is not checked out. */
  readonly isSpecial: boolean;
}

/** The files that differ between two indexes. */
export function indexDifferences(from: string, to: string): readonly Difference[] | null {
  const [before, after] = [readEntries(from), readEntries(to)];
  if (before === null || after === null || [...before, ...after].some(isUnusual)) return null;
  const old = new Map(before.map((entry) => [entry.path, entry] as const));
  const differing = after.flatMap((entry): Difference[] => {
    const known = old.get(entry.path);
    old.delete(entry.path);
    if (known?.mode === entry.mode && known.object === entry.object) return [];
    const kind = known === undefined ? 'new' : 'changed';
    const { mode = NO_MODE, object = NO_OBJECT } = known ?? {};
    return [{ path: entry.path, kind, modes: [mode, entry.mode], object, becomes: entry.object }];
  });
  const gone = [...old.values()].map(({ path, mode, object }): Difference => ({
    path,
    kind: 'gone',
    modes: [mode, NO_MODE],
    object,
    becomes: NO_OBJECT,
  }));
  // Git sorts by bytes, as this does for Latin-1.
  return [...differing, ...gone].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

const NO_MODE = '000000';
const NO_OBJECT = '0'.repeat(40);

/** Whether an entry is not in the tree of its index as it is: of a conflict, promised, or of a folder. */
export function isUnusual({ stage, isSpecial, mode }: Entry): boolean {
  return stage !== 0 || isSpecial || mode === FOLDER_MODE;
}

/** Of a folder that is not checked out. */
const FOLDER_MODE = '040000';

/** In the order of their paths as bytes; null if git has to read them. */
export function readEntries(path: string): readonly Entry[] | null {
  try {
    if (statSync(path).size > MAX_BYTES) return null;
    const index = readFileSync(path);
    return index.includes('link') ? null : parseEntries(index);
  } catch {
    return null;
  }
}

/** For about 3,000 entries; reading more takes longer than asking git. */
const MAX_BYTES = 2 ** 18;

function parseEntries(index: Buffer): readonly Entry[] | null {
  const entries: Entry[] = [];
  const isRead = walkEntries(index, ({ at, nameAt, end, flags }) =>
    entries.push({
      path: index.toString('latin1', nameAt, end),
      mode: index
        .readUInt32BE(at + MODE_AT)
        .toString(8)
        .padStart(6, '0'),
      object: index.toString('hex', at + ID_AT, at + FLAGS_AT),
      stage: (flags & STAGE_BITS) >> 12,
      isSpecial: (flags & EXTENDED_BIT) !== 0,
    }),
  );
  return isRead ? entries : null;
}

/** Whether all entries of an index are read, and none is a side of a conflict. */
export function isWithoutStages(index: Buffer): boolean {
  let hasStages = false;
  const isRead = walkEntries(index, ({ flags }) => {
    hasStages ||= (flags & STAGE_BITS) !== 0;
  });
  return isRead && !hasStages;
}

interface EntryPlace {
  readonly at: number;
  readonly nameAt: number;
  readonly end: number;
  readonly flags: number;
}

/** Visits the entries; false if not all of them could be read. */
function walkEntries(index: Buffer, visit: (place: EntryPlace) => void): boolean {
  if (index.length < HEADER_BYTES || index.readUInt32BE(4) >= WITH_SHORT_NAMES) return false;
  const count = index.readUInt32BE(8);
  let at = HEADER_BYTES;
  for (let read = 0; read < count; read++) {
    if (at + FLAGS_AT + 2 > index.length) return false;
    const flags = index.readUInt16BE(at + FLAGS_AT);
    const nameAt = at + FLAGS_AT + ((flags & EXTENDED_BIT) === 0 ? 2 : 4);
    const length = flags & NAME_BITS;
    const end = length < NAME_BITS ? nameAt + length : index.indexOf(0, nameAt);
    if (end < nameAt) return false;
    visit({ at, nameAt, end, flags });
    // Entries end with one to eight NULs.
    at += (end - at + 8) & ~7;
  }
  // Extensions or the hash of the file follow.
  return at === index.length - HASH_BYTES || /^[A-Za-z]{4}$/.test(index.toString('latin1', at, at + 4));
}

/** `DIRC`, the version and the number of entries. */
export const HEADER_BYTES = 12;
const WITH_SHORT_NAMES = 4;
/** Before it, an entry has the times and the place of a file. */
const MODE_AT = 24;
/** Before it, an entry has the owner and the size of a file. */
const ID_AT = 40;
const HASH_BYTES = 20;
const FLAGS_AT = ID_AT + HASH_BYTES;
const STAGE_BITS = 0x3000;
const EXTENDED_BIT = 0x4000;
const NAME_BITS = 0x0fff;
