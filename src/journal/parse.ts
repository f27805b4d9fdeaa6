/** Reads the content of a journal, and tells an unusable end from damage in the middle. */
import type { LoopEvent } from '../loop/event.ts';
import { JournalError } from './journal.ts';
import {
  checkHeader,
  damagedHeader,
  damagedLine,
  header,
  impossibleEvent,
  isIntact,
  readLine,
} from './lines.ts';
import type { JournalMark } from './snapshot.ts';

/**
 * Passes on the events after a mark and returns how many bytes of the content are intact lines. What follows them was
 * written in part or destroyed, and no intact line comes after it. Throws if one does.
 */
export function parseJournal(
  content: Buffer,
  path: string,
  from: JournalMark,
  take: (event: LoopEvent) => void,
): number {
  let size = from.bytes;
  if (size === 0) {
    const end = endOfHeader(content, path);
    if (end === null) return 0;
    size = end;
  }
  for (let line = from.events + 2; size < content.length; line++) {
    const end = content.indexOf(NEWLINE, size);
    const event = end < 0 ? null : readLine(content.subarray(size, end), line - 1, path);
    if (event === null) {
      const damage = damageAt(content, size, path, line);
      if (damage !== null) throw damage;
      break;
    }
    pass(event, take, path, line);
    size = end + 1;
  }
  return size;
}

const NEWLINE = 10;

/** The error of a line that cannot be read and begins here; null if no intact line follows, so that the journal ends before it. */
export function damageAt(content: Buffer, from: number, path: string, line: number): JournalError | null {
  return hasIntactLine(content, from) ? damagedLine(path, line) : null;
}

/** Where the first event begins; null if the journal was being created. */
export function endOfHeader(content: Buffer, path: string): number | null {
  const end = content.indexOf(NEWLINE);
  if (end >= 0 && checkHeader(content.toString('utf8', 0, end), path) !== null) return end + 1;
  if (end < 0 && header().startsWith(content.toString('latin1'))) return null;
  throw damagedHeader(path);
}

/** Reads every line once, so it takes as long as the content is. */
function hasIntactLine(content: Buffer, from: number): boolean {
  for (let start = from; start < content.length;) {
    const end = content.indexOf(NEWLINE, start);
    // A last line without a newline was not finished.
    if (end < 0) return false;
    if (end - start >= SHORTEST_LINE && isIntact(content.subarray(start, end))) return true;
    start = end + 1;
  }
  return false;
}

/** No event is shorter; an end of many empty lines is not looked at line by line. */
const SHORTEST_LINE = 30;

/** Passes an event on; an error of the fold names the line. */
export function pass(event: LoopEvent, take: (event: LoopEvent) => void, path: string, line: number): void {
  try {
    take(event);
  } catch (error) {
    if (error instanceof JournalError || !isOfFold(error)) throw error;
    throw impossibleEvent(path, line, error);
  }
}

/** An event that cannot follow those before it makes the fold read a value that is not there. */
function isOfFold(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError;
}
