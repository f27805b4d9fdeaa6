/**
 * The journal as a file: one event per line, with its number and a checksum of its text.
 *
 * 1. An event that was appended and synced survives any crash; an event that was written in part does not.
 * 2. When the owner opens the file, it cuts off an end that was torn or destroyed, and keeps its bytes in another file. If
 *    an intact line follows the damage, it is reported with its line number, and nothing is overwritten.
 * 3. Only the owner writes. If another process has changed or replaced the file, the owner writes no more (fenced). It puts
 *    an intact copy beside the file, and does not decide which of the two is right.
 * 4. If an agent removes the file or the loop's folder, the journal is not lost: it is still open, and the owner writes it again.
 */
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  openSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { openRegular, PRIVATE_FILE, PRIVATE_FOLDER, readAll, makeFolders } from '../files/files.ts';
import { counted } from '../loop/counted.ts';
import type { LoopEvent } from '../loop/event.ts';
import { reasonOf } from '../user-error.ts';
import { JournalError, type Journal } from './journal.ts';
import { header, lineOf, parseJournal, pass } from './lines.ts';
import { datedName, hasIntact, keepIntact, OwnCopy } from './own-copy.ts';
import { type EventMark, JOURNAL_START, pageAt } from './pages.ts';
import type { JournalMark } from './snapshot.ts';

/** Opens a journal for its owner; creates it if there is none. An owner of a moment keeps no copy. */
export function openJournal(
  path: string,
  reader: JournalReader = { take: () => {} },
  guard: RestoreGuard = { mayRestore: () => true, restored: () => {} },
  { keepsCopy = true }: { readonly keepsCopy?: boolean } = {},
): FileJournal {
  makeFolders(dirname(path), PRIVATE_FOLDER);
  let descriptor = openRegular(path, 'append');
  // Keep no events: memory must not grow with the journal.
  const { content, ...read } = readFrom(descriptor, path, reader);
  let { events: length, bytes: size } = read;
  let sum = crc32(content.subarray(read.from.bytes, size), read.from.sum);
  const cutOff = size < content.length ? cutEnd(descriptor, path, content, size) : null;
  let isSynced = false;
  const copy = keepsCopy ? new OwnCopy(descriptor, path, size) : null;
  let writtenAt = fstatSync(descriptor).mtimeMs;
  const add = (text: string): void => {
    size += write(descriptor, path, text, size);
    sum = crc32(text, sum);
    isSynced = false;
    writtenAt = fstatSync(descriptor).mtimeMs;
    copy?.add(text);
  };
  if (size === 0) add(header());
  const restore = (): void => {
    if (!guard.mayRestore())
      throw new JournalError(
        'fenced',
        `cannot write ${path}: it was removed, and another process owns the loop now`,
      );
    const fresh = writeAgain(descriptor, path);
    if (fresh === null) throw foreign('replaced');
    closeSync(descriptor);
    descriptor = fresh;
    writtenAt = fstatSync(descriptor).mtimeMs;
    guard.restored();
  };
  /** Another process wrote to the journal. */
  const foreign = (what: 'changed' | 'replaced'): JournalError => {
    // What is in the file now must not be taken for what was written.
    isSynced = false;
    const sources = [descriptor, copy?.descriptor ?? null];
    const remedy = keepIntact(path, sources, { events: length, bytes: size, sum });
    return new JournalError('fenced', `cannot write ${path}: another process has ${what} it; ${remedy}`);
  };
  /** Without `isThorough` the path is not looked at, which takes longer than the rest: a replaced file rarely has another link. */
  const verify = (isThorough: boolean): void => {
    const own = fstatSync(descriptor);
    const isAsWritten =
      own.size === size &&
      (own.mtimeMs === writtenAt || hasIntact(descriptor, { events: length, bytes: size, sum }));
    if (!isAsWritten) throw foreign('changed');
    writtenAt = own.mtimeMs;
    if (!isThorough && own.nlink > 0) return;
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) restore();
    else if (found.ino !== own.ino) throw foreign('replaced');
  };

  return {
    cutOff,
    get length() {
      return length;
    },
    get mark() {
      return { events: length, bytes: size, sum, ...(isSynced ? { stamp: stampOf(descriptor) } : {}) };
    },
    append(event, expected) {
      if (expected !== length) {
        throw new JournalError(
          'fenced',
          `cannot append to ${path}: it has ${length} events, the writer expected ${expected}`,
        );
      }
      verify(false);
      add(lineOf(event, length + 1));
      length++;
    },
    verify: () => verify(true),
    sync() {
      try {
        fdatasyncSync(descriptor);
        isSynced = true;
      } catch (error) {
        throw new JournalError('disk-full', `cannot write ${path}: ${reasonOf(error)}`, null, error);
      }
    },
    close() {
      closeSync(descriptor);
      copy?.close();
    },
  };
}

/** Decides whether a journal that was removed may be written again. */
export interface RestoreGuard {
  /** Whether this process still owns the loop. */
  mayRestore(): boolean;
  /** Called after the journal was written again. */
  restored(): void;
}

export interface FileJournal extends Journal {
  /** Its present end. */
  readonly mark: JournalMark;
  /** What was wrong with its end when it was opened, and where the bytes are now; null if nothing was. */
  readonly cutOff: string | null;
}

/** Receives the events of a journal in their order. */
export interface JournalReader {
  /** The part that the reader knows already. If the journal begins with it, the reader receives only later events. */
  readonly knownMark?: JournalMark | null;
  /** Called before the first event; `isKnown` says whether the journal begins with the known part. */
  begin?(isKnown: boolean): void;
  take(event: LoopEvent): void;
}

/** Reads a journal without owning it, and does not change it. The memory that it needs does not grow with the journal. */
export function readJournal(path: string, reader: JournalReader): JournalLength {
  const descriptor = openRegular(path, 'read');
  try {
    const known = reader.knownMark ?? null;
    const isUnchanged = known?.stamp !== undefined && known.stamp === stampOf(descriptor);
    const isKnown = isUnchanged || (known !== null && beginsWith(descriptor, known));
    reader.begin?.(isKnown);
    let next = isKnown && known !== null ? known : JOURNAL_START;
    if (isUnchanged) return { events: next.events, bytes: next.bytes, unusable: 0 };
    for (;;) {
      const page = pageAt(descriptor, path, next);
      for (const [index, event] of page.events.entries())
        pass(event, reader.take.bind(reader), path, next.events + index + 2);
      ({ next } = page);
      if (page.isEnd) return { ...next, unusable: page.unusable };
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Whether a journal begins with the bytes before a mark. */
function beginsWith(descriptor: number, { bytes, sum }: JournalMark): boolean {
  let found = 0;
  for (let at = 0; at < bytes; at += PIECE_BYTES) {
    const length = Math.min(PIECE_BYTES, bytes - at);
    const piece = readAll(descriptor, length, at);
    if (piece.length < length) return false;
    found = crc32(piece, found);
  }
  return found === sum;
}

const PIECE_BYTES = 1024 * 1024;

/** How much of a journal can be read, and how many bytes at its end cannot. */
export interface JournalLength extends EventMark {
  readonly unusable: number;
}

interface ReadJournal {
  /** Where reading began. */
  readonly from: JournalMark;
  /** How far the journal can be read. */
  readonly events: number;
  readonly bytes: number;
  /** Empty if all of it is known. */
  readonly content: Buffer;
}

function readFrom(descriptor: number, path: string, reader: JournalReader): ReadJournal {
  const known = reader.knownMark ?? null;
  if (known?.stamp !== undefined && known.stamp === stampOf(descriptor)) {
    reader.begin?.(true);
    return { from: known, events: known.events, bytes: known.bytes, content: Buffer.alloc(0) };
  }
  const content = readAll(descriptor, fstatSync(descriptor).size);
  const isKnown =
    known !== null && known.bytes <= content.length && crc32(content.subarray(0, known.bytes)) === known.sum;
  const from = isKnown ? known : { events: 0, bytes: 0, sum: 0 };
  reader.begin?.(isKnown);
  let { events } = from;
  const bytes = parseJournal(content, path, from, (event) => {
    events++;
    reader.take(event);
  });
  return { from, events, bytes, content };
}

/** Every change of a file changes this. */
function stampOf(descriptor: number): string {
  const { ino, size, mtimeMs, ctimeMs } = fstatSync(descriptor);
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}

/** What people should know about the end of a journal that cannot be read. */
export function unusableEnd(path: string, bytes: number): string {
  return `the last ${counted(bytes, 'byte')} of ${path} ${bytes === 1 ? 'was' : 'were'} not written completely or ${bytes === 1 ? 'is' : 'are'} damaged`;
}

/** Cuts off the end of a journal after its bytes are safe in another file. */
function cutEnd(descriptor: number, path: string, content: Buffer, size: number): string {
  const end = content.subarray(size);
  const kept = datedName(`${path}.damaged-`);
  writeFileSync(kept, end, { mode: PRIVATE_FILE, flag: 'wx', flush: true });
  ftruncateSync(descriptor, size);
  return `${unusableEnd(path, end.length)}; the loop continues without them, and they are kept in ${kept}`;
}

/** Writes the whole text or nothing. */
function write(descriptor: number, path: string, text: string, size: number): number {
  const bytes = Buffer.from(text);
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at);
  } catch (error) {
    ftruncateSync(descriptor, size);
    throw new JournalError('disk-full', `cannot write ${path}: ${reasonOf(error)}`, null, error);
  }
  return bytes.length;
}

/** Writes a removed journal to its path again, from the descriptor that is still open; null if there is another one by now. */
function writeAgain(descriptor: number, path: string): number | null {
  const content = readAll(descriptor, fstatSync(descriptor).size);
  makeFolders(dirname(path), PRIVATE_FOLDER);
  const temporary = `${path}.${process.pid}`;
  const fresh = openSync(temporary, 'ax+', PRIVATE_FILE);
  for (let at = 0; at < content.length;) at += writeSync(fresh, content, at);
  fdatasyncSync(fresh);
  // `link` fails if another owner has made a new journal meanwhile, which must not be overwritten.
  let isFree = true;
  try {
    linkSync(temporary, path);
  } catch {
    isFree = false;
  }
  unlinkSync(temporary);
  if (isFree) return fresh;
  closeSync(fresh);
  return null;
}
