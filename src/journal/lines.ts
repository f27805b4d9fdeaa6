/**
 * The lines of a journal: a header, then one event per line with its number and a checksum of its text.
 *
 * A line counts only if its number, its checksum and the shape of its event are right. An unusable end is told from damage in the middle.
 */
import { crc32 } from 'node:zlib';
import type { LoopEvent } from '../loop/event.ts';
import { isEvent } from '../loop/event-shape.ts';
import { JournalError } from './journal.ts';
import type { JournalMark } from './snapshot.ts';

const JOURNAL_VERSION = 2;

export function header(): string {
  return `${JSON.stringify({ journal: JOURNAL_VERSION })}\n`;
}

export function lineOf(event: LoopEvent, number: number): string {
  const text = JSON.stringify(event);
  return `{"n":${number},"sum":"${hex(crc32(`${number}:${text}`))}${MIDDLE}${text}}\n`;
}

function hex(sum: number): string {
  return sum.toString(16).padStart(SUM_LENGTH, '0');
}

function damagedLine(path: string, line: number): JournalError {
  const message = `${path}:${line}: this line is damaged: its number or checksum is wrong, and intact lines follow it`;
  return new JournalError('damaged', message, line);
}

function damagedHeader(path: string): JournalError {
  const message = `${path}:1: this line is damaged: expected ${header().trim()}`;
  return new JournalError('damaged', message, 1);
}

/** The checksum is right, but Ralph cannot have written this event here. */
function impossibleEvent(path: string, line: number, cause?: unknown): JournalError {
  const message = `${path}:${line}: no version of ralph writes this event here`;
  return new JournalError('impossible', message, line, cause);
}

function checkHeader(text: string, path: string): 'header' | null {
  const version = /^\{"journal":(\d+)\}$/.exec(text)?.[1];
  if (version === undefined) return null;
  if (version !== String(JOURNAL_VERSION)) {
    const message = `${path} has journal version ${version}, but this version of ralph reads only version ${JOURNAL_VERSION}; use the version of ralph that wrote it, or start a new loop with --fresh, which archives this one`;
    throw new JournalError('version', message, 1);
  }
  return 'header';
}

/** The event in the line with this number; null if the line is damaged. */
export function readLine(line: Buffer, number: number, path: string): LoopEvent | null {
  const text = textIn(line, number);
  if (text === null) return null;
  const event = parse(text);
  if (!isEvent(event)) throw impossibleEvent(path, number + 1);
  return event;
}

/** Whether a line is intact, whatever its number: it was written after a damaged line before it. */
function isIntact(line: Buffer): boolean {
  // A hole that a power cut left in the file begins in the middle of a line.
  let start = 0;
  while (line[start] === 0) start++;
  const rest = line.subarray(start);
  const number = /^\{"n":(\d{1,15}),"sum":"/.exec(rest.toString('latin1', 0, 40))?.[1];
  return number !== undefined && textIn(rest, Number(number)) !== null;
}

function textIn(line: Buffer, number: number): Buffer | null {
  const start = `{"n":${number},"sum":"`;
  const at = start.length + SUM_LENGTH + MIDDLE.length;
  const head = line.toString('latin1', 0, at);
  if (!head.startsWith(start) || !head.endsWith(MIDDLE) || line.at(-1) !== CLOSING_BRACE) return null;
  const text = line.subarray(at, -1);
  const sum = head.slice(start.length, start.length + SUM_LENGTH);
  return sum === hex(crc32(text, crc32(`${number}:`))) ? text : null;
}

function parse(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString('utf8'));
  } catch {
    return null;
  }
}

const SUM_LENGTH = 8;
const MIDDLE = '","event":';
const CLOSING_BRACE = 125;

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
