/**
 * The journal as a file: one event a line, with its number and a checksum of its text.
 *
 * 1. An event that was appended and synced is there after any crash; one that was half written is not.
 * 2. A torn last line is cut when the owner opens the file; any other damage is reported with its line, and nothing
 *    is overwritten.
 * 3. The file is written by one owner. If it is not as long as the owner left it, somebody else wrote: fenced.
 * 4. An agent that removes the folder does not remove the journal: it is still open, and is written anew from there.
 */
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from './crc32.ts';
import type { LoopEvent } from '../loop/event.ts';
import { JournalError, type Journal } from './journal.ts';
import type { JournalMark } from './snapshot.ts';

const JOURNAL_VERSION = 1;

/** Opens a journal for its owner, and makes one where there is none. */
export function openJournal(
  path: string,
  reader: JournalReader = { take: () => {} },
  keeper: JournalKeeper = { mayRestore: () => true, restored: () => {} },
): FileJournal {
  mkdirSync(dirname(path), { recursive: true });
  let descriptor = openSync(path, 'a+');
  const content = readAll(descriptor);
  // Only these are kept: memory must not grow with the journal.
  let { events: length, bytes: size } = readFrom(content, path, reader);
  let sum = crc32(content.subarray(0, size));
  if (size < content.length) ftruncateSync(descriptor, size);
  const add = (text: string): void => {
    size += write(descriptor, text, size);
    sum = crc32(text, sum);
  };
  if (size === 0) add(header());
  const putBack = (): void => {
    if (!keeper.mayRestore())
      throw new JournalError('fenced', `${path} was removed, and somebody else owns it now`);
    descriptor = restore(descriptor, path);
    keeper.restored();
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
        throw new JournalError('fenced', `the journal has ${length} events, the writer knows of ${expected}`);
      }
      const { nlink, size: actual } = fstatSync(descriptor);
      if (actual !== size) throw new JournalError('fenced', `${path} was written by somebody else`);
      if (nlink === 0) putBack();
      add(lineOf(event, length + 1));
      length++;
    },
    look() {
      if (fstatSync(descriptor).nlink === 0) putBack();
    },
    sync() {
      try {
        fdatasyncSync(descriptor);
      } catch (error) {
        throw new JournalError('disk-full', `${path} cannot be written any more`, null, error);
      }
    },
    close: () => closeSync(descriptor),
  };
}

/** Told when somebody has removed the file and it is written anew. */
export interface JournalKeeper {
  /** Whether the loop is still ours. */
  mayRestore(): boolean;
  restored(): void;
}

export interface FileJournal extends Journal {
  /** Where it stands now. */
  readonly mark: JournalMark;
}

/** Gets the events of a journal in their order. */
export interface JournalReader {
  /** What it knows already: where that is really how the journal begins, it gets only what comes after it. */
  readonly knownMark?: JournalMark | null;
  /** Told before the first event whether it was. */
  begin?(isKnown: boolean): void;
  take(event: LoopEvent): void;
}

/** Reads a journal without owning it: a torn last line is left out and left alone. */
export function readJournal(path: string, reader: JournalReader): void {
  const descriptor = openSync(path, 'r');
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

/** Hands over the events behind a mark and tells how many bytes of the content are whole lines. */
function parse(content: Buffer, path: string, from: JournalMark, take: (event: LoopEvent) => void): number {
  let size = from.bytes;
  for (let line = size === 0 ? 1 : from.events + 2; size < content.length; line++) {
    const end = content.indexOf(10, size);
    // Without its line end the last line was never finished.
    if (end < 0) break;
    const bytes = content.subarray(size, end);
    const event = line === 1 ? checkHeader(bytes.toString('utf8'), path) : readLine(bytes, line - 1);
    if (event === null) {
      if (end === content.length - 1 && line > 1) break;
      throw new JournalError(
        'damaged',
        `${path}:${line}: this is not what was written; nothing was changed`,
        line,
      );
    }
    if (event !== 'header') take(event);
    size = end + 1;
  }
  return size;
}

function checkHeader(text: string, path: string): 'header' | null {
  const version = /^\{"journal":(\d+)\}$/.exec(text)?.[1];
  if (version === undefined) return null;
  if (Number(version) > JOURNAL_VERSION) {
    const message = `${path} was written by a newer version of ralph (journal ${version}, this one reads ${JOURNAL_VERSION})`;
    throw new JournalError('newer', message, 1);
  }
  return 'header';
}

/** The event in the line with this number; null when it is not what was written. */
export function readLine(line: Buffer, number: number): LoopEvent | null {
  const start = `{"n":${number},"sum":"`;
  const at = start.length + SUM_LENGTH + MIDDLE.length;
  const head = line.toString('latin1', 0, at);
  if (!head.startsWith(start) || !head.endsWith(MIDDLE) || line.at(-1) !== CLOSING_BRACE) return null;
  const text = line.subarray(at, -1);
  if (head.slice(start.length, start.length + SUM_LENGTH) !== hex(crc32(text, crc32(`${number}:`))))
    return null;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its checksum says that we wrote it
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

/** Writes all of it or nothing of it. */
function write(descriptor: number, text: string, size: number): number {
  const bytes = Buffer.from(text);
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at);
  } catch (error) {
    ftruncateSync(descriptor, size);
    const reason = error instanceof Error ? error.message : String(error);
    throw new JournalError('disk-full', `the journal cannot be written any more: ${reason}`, null, error);
  }
  return bytes.length;
}

/** The file was removed under us: what is still open is all of it. */
function restore(descriptor: number, path: string): number {
  const content = readAll(descriptor);
  mkdirSync(dirname(path), { recursive: true });
  const aside = `${path}.${process.pid}`;
  const fresh = openSync(aside, 'ax+');
  for (let at = 0; at < content.length;) at += writeSync(fresh, content, at);
  fdatasyncSync(fresh);
  // Whoever has put another journal there in the meantime is the owner now, and nothing of theirs is overwritten.
  try {
    linkSync(aside, path);
  } catch (error) {
    renameSync(aside, `${path}.lost-${Date.now()}`);
    throw new JournalError('fenced', `${path} was removed and made anew by somebody else`, null, error);
  }
  unlinkSync(aside);
  closeSync(descriptor);
  return fresh;
}
