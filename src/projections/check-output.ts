/** What people and agents are shown of the output of a failed check: the failing tests, else the end without noise. */
import { closeSync, fstatSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { stripVTControlCharacters } from 'node:util';
import { openRegular } from '../files/files.ts';
import { cut, type CheckExcerpt } from '../loop/excerpt.ts';
import { FailureScan, isNoise, withoutNoiseAtEnd, type Failures } from '../loop/failures.ts';
import { failureLines, failuresText, firstFailure } from '../loop/failures-text.ts';
import { firstLine, readExcerpt } from '../files/excerpts.ts';

/** Masks secrets. It is called before anything is cut, because a part of a secret cannot be recognised. */
type Hide = (text: string) => string;

/** The part of a failed check's output that its excerpt asks for; the prompt cuts it to its length. */
export function readOutput(path: string, excerpt: CheckExcerpt, hide: Hide): string {
  const { side, chars } = excerpt;
  if (side !== 'failures') return hide(readExcerpt(path, { ...excerpt, side }));
  const found = readFailures(path, hide);
  if (found !== null) return failuresText(found, Math.min(chars ?? MAX_CHARS, MAX_CHARS));
  const end = withoutNoiseAtEnd(lastLines(path)).join('\n');
  return hide(end === '' ? readExcerpt(path, { ...excerpt, side: 'tail' }) : end);
}

/** The same for a terminal, in few lines. */
export function outputLines(
  path: string,
  { lines, chars }: { readonly lines: number; readonly chars: number },
  hide: Hide,
): readonly string[] {
  const found = readFailures(path, hide);
  const shown =
    found === null
      ? hide(withoutNoiseAtEnd(lastLines(path)).join('\n'))
          .split('\n')
          .filter((line) => line.trim() !== '')
          .slice(-lines)
      : failureLines(found, lines);
  return shown.map((line) => cut(line.replaceAll('\t', '  '), chars));
}

/** The same in one line, for `progress.md`: without failing tests the last line, or the first one of a documented excerpt. */
export function outputLine(path: string, { side }: CheckExcerpt, hide: Hide): string {
  const found = readFailures(path, hide);
  if (found !== null) return cut(firstFailure(found), MAX_LINE_LENGTH);
  if (side !== 'failures') return hide(firstLine(path));
  const last = hide(lastLines(path).join('\n'))
    .split('\n')
    .findLast((line) => !isNoise(line));
  return cut((last ?? '').replaceAll(/\s+/g, ' ').trim(), MAX_LINE_LENGTH);
}

const MAX_LINE_LENGTH = 200;

/** The most that an excerpt without a limit has. */
const MAX_CHARS = 1024 * 1024;

/** How many failing tests the beginning and the end of a log name; null if they name none. */
export function readFailingTests(path: string, hide: Hide): number | null {
  return readFailures(path, hide, END_BYTES)?.failures.length ?? null;
}

/** The failures that a known test runner reports in a log; null if there are none. */
function readFailures(path: string, hide: Hide, window: number = WINDOW_BYTES): Failures | null {
  const scan = new FailureScan();
  readLines(path, window, (line) => (line === null ? scan.skip() : scan.take(line)));
  return scan.end(hide);
}

/** The lines at the end of a log, as many as an excerpt can need. */
function lastLines(path: string): readonly string[] {
  let lines: string[] = [];
  readLines(path, END_BYTES, (line) => {
    if (line === null) lines = [];
    else lines.push(line);
  });
  return lines;
}

/** What is read of the beginning and of the end of a log: reading all of a huge one would stop the loop for seconds. */
const WINDOW_BYTES = 4 * 1024 * 1024;
const END_BYTES = 512 * 1024;
/** Longer than any secret. */
const MARGIN_CHARS = 16 * 1024;

/** The lines of a log as a terminal would show them; null stands for the middle of a log that is longer than both windows. */
function readLines(path: string, window: number, take: (line: string | null) => void): void {
  let descriptor: number;
  try {
    descriptor = openRegular(path, 'read');
  } catch {
    return;
  }
  try {
    const stat = fstatSync(descriptor);
    const size = stat.isFile() ? stat.size : 0;
    if (size <= 2 * window) return readPart(descriptor, 0, size, true, take);
    readPart(descriptor, 0, window, true, take);
    take(null);
    readPart(descriptor, size - window, size, false, take);
  } finally {
    closeSync(descriptor);
  }
}

function readPart(
  descriptor: number,
  from: number,
  to: number,
  atLineStart: boolean,
  take: (line: string) => void,
): void {
  const decoder = new StringDecoder('utf8');
  const buffer = Buffer.allocUnsafe(64 * 1024);
  let rest = '';
  let isWhole = atLineStart;
  const show = (line: string): void => {
    // An incomplete first line may start in the middle of a secret, or of a character.
    const safe = isWhole ? line : line.slice(MARGIN_CHARS);
    if (isWhole || safe !== '') shownLines(safe).forEach(take);
    isWhole = true;
  };
  for (let at = from; at < to;) {
    const count = readSync(descriptor, buffer, 0, Math.min(buffer.length, to - at), at);
    if (count === 0) break;
    at += count;
    const lines = decoder.write(buffer.subarray(0, count)).split('\n');
    lines[0] = rest + (lines[0] ?? '');
    rest = lines.pop() ?? '';
    for (const line of lines) show(line);
  }
  rest += decoder.end();
  if (rest !== '') show(rest);
}

/** A line without control characters; the states of a progress bar that were overwritten are left out. */
function shownLines(line: string): readonly string[] {
  if (!CONTROL.test(line)) return [line];
  const states = stripVTControlCharacters(line).split('\r');
  while (states.length > 1 && states.at(-1) === '') states.pop();
  return states
    .map((part) => part.replaceAll(OTHER_CONTROLS, ''))
    .filter((part, index) => index === states.length - 1 || !(part.trim() === '' || STATE.test(part)));
}

// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const CONTROL = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/;
// oxlint-disable-next-line no-control-regex -- as above
const OTHER_CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g;
/** A percentage, a count or the characters of a progress bar. */
const STATE = /\d%|\d\/\d|[█▓▒░━⠁-⣿]|\[[=#> .-]*\]/;
