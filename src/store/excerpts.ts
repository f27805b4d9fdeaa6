import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { cut, type Excerpt } from '../loop/excerpt.ts';

/** As much of a file as an excerpt of it can need: its beginning or its end, however long it is. */
export function readExcerpt(path: string, excerpt: Excerpt): string {
  return readPart(path, excerpt.side, bytesFor(excerpt));
}

/** So many bytes have all the characters that an excerpt can need, and more: a secret at the edge must be seen whole. */
export function bytesFor({ chars }: Excerpt): number {
  return chars === null ? WHOLE_BYTES : (chars + 2) * MOST_BYTES_A_CHARACTER + MARGIN_BYTES;
}

/** The first line that says something. */
export function firstLine(path: string): string {
  const line = readPart(path, 'head', 4096)
    .split('\n')
    .find((candidate) => candidate.trim() !== '');
  return (line ?? '').trim().slice(0, 200);
}

/** The last lines that say something, as one. */
export function lastLines(path: string, count: number): string {
  return asOne(telling(path).slice(-count));
}

/** Why git or a remote of it has refused, in its own words; else the last lines. */
export function refusal(path: string, count: number): string {
  const lines = telling(path);
  const causes = lines.filter((line) => /^(?:fatal:|error:|remote:|! \[)\s*\S/.test(line));
  return asOne((causes.length === 0 ? lines : causes).slice(-count));
}

/** The last lines that say something, to be shown below each other; `hide` sees them before they are cut. */
export function endOf(
  path: string,
  { lines, chars }: { readonly lines: number; readonly chars: number },
  hide: (text: string) => string,
): readonly string[] {
  const read = readPart(path, 'tail', 2 * MARGIN_BYTES);
  // Of a line whose beginning is missing nobody knows whether it begins in a secret.
  const from = Buffer.byteLength(read) < 2 * MARGIN_BYTES ? 0 : read.indexOf('\n') + 1 || MARGIN_BYTES;
  return hide(stripVTControlCharacters(read.slice(from)))
    .split('\n')
    .map((line) =>
      lastState(line)
        .replaceAll('\t', '  ')
        .replaceAll(/\p{Cc}/gu, '')
        .trimEnd(),
    )
    .filter((line) => line !== '')
    .slice(-lines)
    .map((line) => cut(line, chars));
}

/** What is left to see of a line that was written over again and again. */
function lastState(line: string): string {
  return line.split('\r').findLast((part) => part.trim() !== '') ?? '';
}

/** The first of some names, and how many more there are. */
export function fewOf(names: readonly string[], most: number): string {
  const more = names.length > most ? ` and ${names.length - most} more` : '';
  return `${names.slice(0, most).join(', ')}${more}`;
}

function telling(path: string): readonly string[] {
  return stripVTControlCharacters(readPart(path, 'tail', 4096))
    .split(/[\n\r]/)
    .map((line) => line.replaceAll(/\p{Cc}/gu, '').trim())
    .filter((line) => line !== '' && !line.startsWith('hint:'));
}

function asOne(lines: readonly string[]): string {
  return lines.join('; ').slice(-1000);
}

const MOST_BYTES_A_CHARACTER = 4;
const MARGIN_BYTES = 16 * 1024;
/** What "everything" means for a log that nobody can read whole. */
const WHOLE_BYTES = 1024 * 1024;

function readPart(path: string, side: Excerpt['side'], bytes: number): string {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
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
