/**
 * The lines of a journal: a header, then one event per line with its number and a checksum of its text.
 *
 * A line counts only if its number, its checksum and the shape of its event are right.
 */
import { crc32 } from 'node:zlib';
import type { LoopEvent } from '../loop/event.ts';
import { isEvent } from '../loop/event-shape.ts';
import { JournalError } from './journal.ts';

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

export function damagedLine(path: string, line: number): JournalError {
  const message = `${path}:${line}: this line is damaged: its number or checksum is wrong, and intact lines follow it`;
  return new JournalError('damaged', message, line);
}

export function damagedHeader(path: string): JournalError {
  const message = `${path}:1: this line is damaged: expected ${header().trim()}`;
  return new JournalError('damaged', message, 1);
}

/** The checksum is right, but Ralph cannot have written this event here. */
export function impossibleEvent(path: string, line: number, cause?: unknown): JournalError {
  const message = `${path}:${line}: no version of ralph writes this event here`;
  return new JournalError('impossible', message, line, cause);
}

export function checkHeader(text: string, path: string): 'header' | null {
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
export function isIntact(line: Buffer): boolean {
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
