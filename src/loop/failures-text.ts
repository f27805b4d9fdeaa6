/** What a person or an agent reads about the failures in the output of a check. */
import { counted } from './counted.ts';
import { cut, excerpt } from './excerpt.ts';
import type { Failure, Failures } from './failures.ts';

/**
 * The names of all failures, then as much of each message as fits into `chars` code points (null: everything), then the
 * end of the output after them. It says how many names and messages are left out.
 */
export function failuresText({ reporters, failures, after }: Failures, chars: number | null): string {
  const room = chars ?? Number.POSITIVE_INFINITY;
  const heading = `${counted(failures.length, 'failure')} (${reporters.join(', ')}):`;
  // The heading of a single message is its name.
  const names = failures.length === 1 ? [] : nameLines(failures, room / 2);
  const start = [heading, ...names].join('\n');
  const end = afterText(after, Math.floor(room / 5));
  const left = room - size(start) - size(end);
  const text = `${start}${messages(failures, left)}${end}`;
  return chars === null ? text : head(text, chars, '');
}

/** One line per failure, at most `lines`; the last line may be the number of the others. */
export function failureLines({ failures }: Failures, lines: number): readonly string[] {
  const shown = failures.length > lines ? failures.slice(0, lines - 1) : failures;
  const others = failures.length - shown.length;
  return [
    ...shown.map(failureLine),
    ...(others === 0 ? [] : [`... and ${counted(others, 'more failure', 'more failures')}`]),
  ];
}

/** All failures in one line: the first one and the number of the others. */
export function firstFailure({ failures: [first, ...others] }: Failures): string {
  if (first === undefined) return '';
  return `${failureLine(first)}${others.length === 0 ? '' : ` (and ${others.length} more)`}`;
}

function failureLine({ name, says }: Failure): string {
  return says === '' ? oneLine(name) : `${oneLine(name)}: ${oneLine(says)}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** As many names as fit; the last line counts the others. */
function nameLines(failures: readonly Failure[], room: number): readonly string[] {
  const lines: string[] = [];
  let left = room;
  for (const { name } of failures) {
    const line = `- ${cut(oneLine(name), MAX_NAME_LENGTH)}`;
    left -= size(line) + 1;
    if (left < 0) return [...lines, `- ... and ${failures.length - lines.length} more`];
    lines.push(line);
  }
  return lines;
}

const MAX_NAME_LENGTH = 200;

/** The messages share the room: each gets the same, and what a short one does not need goes to the others. */
function messages(failures: readonly Failure[], room: number): string {
  const blocks = failures.length === 1 ? failures : failures.filter(({ message }) => message !== '');
  const shown: { readonly index: number; readonly failure: Failure; readonly needed: number }[] = [];
  let reserved = size(leftOut(blocks.length));
  for (const [index, failure] of blocks.entries()) {
    const needed = size(block(failure, room));
    reserved += Math.min(needed, MIN_MESSAGE_ROOM);
    if (reserved > room && index > 0) break;
    shown.push({ index, failure, needed });
  }
  const note = leftOut(blocks.length - shown.length);
  let left = room - size(note);
  const texts: string[] = [];
  for (const [position, { index, failure }] of shown.toSorted((a, b) => a.needed - b.needed).entries()) {
    const text = block(failure, Math.floor(left / (shown.length - position)));
    left -= size(text);
    texts[index] = text;
  }
  return `${texts.join('')}${note}`;
}

/** With less room than this, a message says nothing. */
const MIN_MESSAGE_ROOM = 300;

function leftOut(count: number): string {
  if (count <= 0) return '';
  return count === 1
    ? '\n\n[the message of 1 more failure is left out]'
    : `\n\n[the messages of ${count} more failures are left out]`;
}

/** One failure: its name and its message, cut to the room. What is wrong stays, even if it stands at the end. */
function block({ name, message, says }: Failure, room: number): string {
  const start = `\n\n${cut(oneLine(name), MAX_NAME_LENGTH)}\n`;
  const left = Math.max(0, room - size(start));
  if (message === '') return start.trimEnd();
  const whole = head(message, left, CUT);
  if (whole === message) return `${start}${message}`;
  const kept = head(message, left - size(CUT), CUT);
  if (says.split('\n').every((line) => kept.includes(line))) return `${start}${kept}`;
  const first = `${head(says, Math.floor(left / 2), '')}\n`;
  return `${start}${first}${head(message, left - size(first) - size(CUT), CUT)}`;
}

const CUT = '\n... [truncated]';

function afterText(after: string, room: number): string {
  const heading = '\n\nThe output after the failures:\n';
  if (after === '') return '';
  const left = room - size(heading) - size(CUT_BEFORE);
  return left < 1 ? '' : `${heading}${excerpt(after, { side: 'tail', chars: left, marker: CUT_BEFORE })}`;
}

const CUT_BEFORE = '[truncated] ...\n';

function head(text: string, room: number, marker: string): string {
  return Number.isFinite(room) ? excerpt(text, { side: 'head', chars: Math.max(0, room), marker }) : text;
}

/** In code points. */
function size(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
