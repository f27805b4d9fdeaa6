/**
 * The journal as a file: one event per line, with its number and a checksum of its text.
 *
 * 1. An event that was appended and synced survives any crash; an event that was written in part does not.
 * 2. When the owner opens the file, it cuts off a torn last line. Any other damage is reported with its line number, and
 *    nothing is overwritten.
 * 3. Only the owner writes. If the file is not as long as the owner left it, another process wrote: fenced.
 * 4. If an agent removes the loop's folder, the journal is not lost: it is still open, and the owner writes it again.
 */
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  openSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { openRegular, PRIVATE_FILE, PRIVATE_FOLDER } from '../files/files.ts';
import { makeFolders } from '../files/make-folders.ts';
import { crc32 } from './crc32.ts';
import type { LoopEvent } from '../loop/event.ts';
import { reasonOf } from '../user-error.ts';
import { JournalError, type Journal } from './journal.ts';
import type { JournalMark } from './snapshot.ts';

const JOURNAL_VERSION = 1;

/** Opens a journal for its owner; creates it if there is none. */
export function openJournal(
  path: string,
  reader: JournalReader = { take: () => {} },
  guard: RestoreGuard = { mayRestore: () => true, restored: () => {} },
): FileJournal {
  makeFolders(dirname(path), PRIVATE_FOLDER);
  let descriptor = openRegular(path, 'append');
  const content = readAll(descriptor);
  // Keep no events: memory must not grow with the journal.
  let { events: length, bytes: size } = readFrom(content, path, reader);
  let sum = crc32(content.subarray(0, size));
  if (size < content.length) ftruncateSync(descriptor, size);
  const add = (text: string): void => {
    size += write(descriptor, path, text, size);
    sum = crc32(text, sum);
  };
  if (size === 0) add(header());
  const restore = (): void => {
    if (!guard.mayRestore())
      throw new JournalError(
        'fenced',
        `cannot write ${path}: it was removed, and another process owns the loop now`,
      );
    descriptor = writeAgain(descriptor, path);
    guard.restored();
  };

  return {
    get length() {
      return length;
    },
    get mark() {
      return { events: length, bytes: size, sum };
    },
    append(event, expected) {
      if (expected !== length) {
        throw new JournalError(
          'fenced',
          `cannot append to ${path}: it has ${length} events, the writer expected ${expected}`,
        );
      }
      const { nlink, size: actual } = fstatSync(descriptor);
      if (actual !== size)
        throw new JournalError('fenced', `cannot write ${path}: another process has changed it`);
      if (nlink === 0) restore();
      add(lineOf(event, length + 1));
      length++;
    },
    look() {
      if (fstatSync(descriptor).nlink === 0) restore();
    },
    sync() {
      try {
        fdatasyncSync(descriptor);
      } catch (error) {
        throw new JournalError('disk-full', `cannot write ${path}: ${reasonOf(error)}`, null, error);
      }
    },
    close: () => closeSync(descriptor),
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
}

/** Receives the events of a journal in their order. */
export interface JournalReader {
  /** The part that the reader knows already. If the journal begins with it, the reader receives only later events. */
  readonly knownMark?: JournalMark | null;
  /** Called before the first event; `isKnown` says whether the journal begins with the known part. */
  begin?(isKnown: boolean): void;
  take(event: LoopEvent): void;
}

/** Reads a journal without owning it. Skips a torn last line and does not change it. */
export function readJournal(path: string, reader: JournalReader): void {
  const descriptor = openRegular(path, 'read');
  try {
    readFrom(readAll(descriptor), path, reader);
  } finally {
    closeSync(descriptor);
  }
}

function readFrom(content: Buffer, path: string, reader: JournalReader): { events: number; bytes: number } {
  const known = reader.knownMark ?? null;
  const isKnown =
    known !== null && known.bytes <= content.length && crc32(content.subarray(0, known.bytes)) === known.sum;
  const from = isKnown ? known : { events: 0, bytes: 0, sum: 0 };
  reader.begin?.(isKnown);
  let { events } = from;
  const bytes = parse(content, path, from, (event) => {
    events++;
    reader.take(event);
  });
  return { events, bytes };
}

function header(): string {
  return `${JSON.stringify({ journal: JOURNAL_VERSION })}\n`;
}

function lineOf(event: LoopEvent, number: number): string {
  const text = JSON.stringify(event);
  return `{"n":${number},"sum":"${hex(crc32(`${number}:${text}`))}${MIDDLE}${text}}\n`;
}

function hex(sum: number): string {
  return sum.toString(16).padStart(SUM_LENGTH, '0');
}

/** Passes on the events after a mark and returns how many bytes of the content are complete lines. */
function parse(content: Buffer, path: string, from: JournalMark, take: (event: LoopEvent) => void): number {
  let size = from.bytes;
  for (let line = size === 0 ? 1 : from.events + 2; size < content.length; line++) {
    const end = content.indexOf(10, size);
    // A last line without a newline was not finished.
    if (end < 0) break;
    const bytes = content.subarray(size, end);
    const event = line === 1 ? checkHeader(bytes.toString('utf8'), path) : readLine(bytes, line - 1);
    if (event === null) {
      if (end === content.length - 1 && line > 1) break;
      throw damagedLine(path, line);
    }
    if (event !== 'header') take(event);
    size = end + 1;
  }
  return size;
}

export function damagedLine(path: string, line: number): JournalError {
  const message = `${path}:${line}: this line is damaged: its number or checksum is wrong; nothing was changed`;
  return new JournalError('damaged', message, line);
}

export function checkHeader(text: string, path: string): 'header' | null {
  const version = /^\{"journal":(\d+)\}$/.exec(text)?.[1];
  if (version === undefined) return null;
  if (Number(version) > JOURNAL_VERSION) {
    const message = `${path} was written by a newer version of ralph (journal version ${version}, this ralph reads ${JOURNAL_VERSION}); update ralph`;
    throw new JournalError('newer', message, 1);
  }
  return 'header';
}

/** The event in the line with this number; null if the line is damaged. */
export function readLine(line: Buffer, number: number): LoopEvent | null {
  const start = `{"n":${number},"sum":"`;
  const at = start.length + SUM_LENGTH + MIDDLE.length;
  const head = line.toString('latin1', 0, at);
  if (!head.startsWith(start) || !head.endsWith(MIDDLE) || line.at(-1) !== CLOSING_BRACE) return null;
  const text = line.subarray(at, -1);
  if (head.slice(start.length, start.length + SUM_LENGTH) !== hex(crc32(text, crc32(`${number}:`))))
    return null;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its checksum proves that Ralph wrote it
  const event = JSON.parse(text.toString('utf8')) as LoopEvent | OldSharedLimit;
  return event.type === 'limit.heard' ? { ...event, type: 'limit.shared' } : event;
}

/** The name that `limit.shared` had in journals of earlier versions. */
type OldSharedLimit = Omit<Extract<LoopEvent, { type: 'limit.shared' }>, 'type'> & {
  readonly type: 'limit.heard';
};

const SUM_LENGTH = 8;
const MIDDLE = '","event":';
const CLOSING_BRACE = 125;

function readAll(descriptor: number): Buffer {
  const { size } = fstatSync(descriptor);
  const content = Buffer.alloc(size);
  let at = 0;
  while (at < size) {
    const read = readSync(descriptor, content, at, size - at, at);
    if (read === 0) break;
    at += read;
  }
  return content.subarray(0, at);
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

/** Writes a removed journal to its path again, from the descriptor that is still open. */
function writeAgain(descriptor: number, path: string): number {
  const content = readAll(descriptor);
  makeFolders(dirname(path), PRIVATE_FOLDER);
  const temporary = `${path}.${process.pid}`;
  const fresh = openSync(temporary, 'ax+', PRIVATE_FILE);
  for (let at = 0; at < content.length;) at += writeSync(fresh, content, at);
  fdatasyncSync(fresh);
  // `link` fails if another owner has made a new journal meanwhile, which must not be overwritten.
  try {
    linkSync(temporary, path);
  } catch (error) {
    renameSync(temporary, `${path}.lost-${Date.now()}`);
    throw new JournalError(
      'fenced',
      `cannot write ${path}: another process has removed it and created a new one`,
      null,
      error,
    );
  }
  unlinkSync(temporary);
  closeSync(descriptor);
  return fresh;
}
