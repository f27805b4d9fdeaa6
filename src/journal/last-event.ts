import { closeSync, fstatSync } from 'node:fs';
import { openRegular, readAll } from '../files/files.ts';
import type { LoopEvent } from '../loop/event.ts';
import { readLine } from './lines.ts';

/** The last event of a journal, read without the others; null if the end of the file does not tell. */
export function lastEvent(path: string): LoopEvent | null {
  try {
    const descriptor = openRegular(path, 'read');
    try {
      const { size } = fstatSync(descriptor);
      const from = Math.max(0, size - MAX_BYTES);
      return lastIn(readAll(descriptor, size - from, from), path);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return null;
  }
}

/** Longer than most events. */
const MAX_BYTES = 4096;
const NEWLINE = 10;

function lastIn(end: Buffer, path: string): LoopEvent | null {
  if (end.at(-1) !== NEWLINE) return null;
  const line = end.subarray(end.lastIndexOf(NEWLINE, -2) + 1, -1);
  const number = /^\{"n":(\d{1,15}),/.exec(line.toString('latin1', 0, 40))?.[1];
  return number === undefined ? null : readLine(line, Number(number), path);
}
