import { closeSync, fstatSync, readSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { openRegular } from './files.ts';
import type { Excerpt } from '../loop/excerpt.ts';

/** Reads as much of a file as an excerpt of it can need: its beginning or its end. */
export function readExcerpt(path: string, excerpt: Excerpt): string {
  return readPart(path, excerpt.side, bytesFor(excerpt));
}

/** How many bytes an excerpt can need. The margin is there because a secret at the edge can only be masked as a whole. */
export function bytesFor({ chars }: Excerpt): number {
  return chars === null ? MAX_BYTES : (chars + 2) * MAX_BYTES_PER_CHARACTER + MARGIN_BYTES;
}

/** The first line that is not blank. */
export function firstLine(path: string): string {
  const line = readPart(path, 'head', 4096)
    .split('\n')
    .find((candidate) => candidate.trim() !== '');
  return (line ?? '').trim().slice(0, 200);
}

/** The last lines that are not blank, joined to one line. */
export function lastLines(path: string, count: number): string {
  return joined(messageLines(path).slice(-count));
}

/** The error lines of git or its remote in a log; without any, the last lines. */
export function gitErrorIn(path: string, count: number): string {
  const lines = messageLines(path);
  const errors = lines.filter((line) => /^(?:fatal:|error:|remote:|! \[)\s*\S/.test(line));
  return joined((errors.length === 0 ? lines : errors).slice(-count));
}

function messageLines(path: string): readonly string[] {
  return stripVTControlCharacters(readPart(path, 'tail', 4096))
    .split(/[\n\r]/)
    .map((line) => line.replaceAll(/\p{Cc}/gu, '').trim())
    .filter((line) => line !== '' && !line.startsWith('hint:'));
}

function joined(lines: readonly string[]): string {
  return lines.join('; ').slice(-1000);
}

const MAX_BYTES_PER_CHARACTER = 4;
const MARGIN_BYTES = 16 * 1024;
/** The most that is read of a file for an excerpt without a limit. */
const MAX_BYTES = 1024 * 1024;

function readPart(path: string, side: Excerpt['side'], bytes: number): string {
  let descriptor: number;
  try {
    descriptor = openRegular(path, 'read');
  } catch {
    return '';
  }
  try {
    const { size } = fstatSync(descriptor);
    const buffer = Buffer.alloc(Math.min(bytes, size));
    const count = readSync(descriptor, buffer, 0, buffer.length, side === 'head' ? 0 : size - buffer.length);
    return buffer.toString('utf8', 0, count);
  } finally {
    closeSync(descriptor);
  }
}
