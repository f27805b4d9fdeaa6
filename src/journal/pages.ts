/**
 * A journal that is read page by page: the memory that it needs does not grow with the journal, and a reader goes on where it was,
 * also while the journal is written.
 *
 * 1. A mark stands between two events. What was read up to it is not read again.
 * 2. As in `readJournal`, an end that was torn or destroyed is not read: the next owner cuts it off and writes other lines in its place.
 *    Damage before an intact line is an error with its line number, after the events before it.
 */
import { closeSync, fstatSync } from 'node:fs';
import { openRegular, readAll } from '../files/files.ts';
import type { LoopEvent } from '../loop/event.ts';
import { JournalError } from './journal.ts';
import { readLine, damageAt, endOfHeader } from './lines.ts';

/** How many events are before this place, and how many bytes. */
export interface EventMark {
  readonly events: number;
  readonly bytes: number;
}

export interface EventPage {
  readonly events: readonly LoopEvent[];
  readonly next: EventMark;
  /** Whether there is nothing more to read now. */
  readonly isEnd: boolean;
}

/** The start of every journal. */
export const JOURNAL_START: EventMark = { events: 0, bytes: 0 };

/** The events after a mark, as many as a page may have; at least one if there is one. */
export function readPage(path: string, from: EventMark, most?: PageSize): EventPage {
  const descriptor = openRegular(path, 'read');
  try {
    const { events, next, isEnd } = pageAt(descriptor, path, from, most);
    return { events, next, isEnd };
  } finally {
    closeSync(descriptor);
  }
}

interface PageSize {
  readonly events?: number;
  readonly bytes?: number;
}

/** The same of an open journal; `unusable` is how many bytes after the last event cannot be read. */
export function pageAt(
  descriptor: number,
  path: string,
  from: EventMark,
  { events: most = MOST_EVENTS, bytes = MOST_BYTES }: PageSize = {},
): EventPage & { readonly unusable: number } {
  // The byte before a mark ends a line.
  const start = Math.max(0, from.bytes - 1);
  for (let length = bytes; ; length *= 2) {
    // The next owner may cut its end off meanwhile.
    const { size } = fstatSync(descriptor);
    const content = readAll(descriptor, Math.max(0, Math.min(length + 1, size - start)), start);
    const isWhole = start + content.length >= size;
    const page = pageIn(content, start, from, { path, most, isWhole });
    if (page.events.length > 0 || isWhole)
      return { ...page, unusable: page.isEnd ? start + content.length - page.next.bytes : 0 };
  }
}

/** Much more than a screen, and little memory. */
const MOST_EVENTS = 1000;
const MOST_BYTES = 64 * 1024;
const NEWLINE = 10;

/** The events in a part of a journal that begins at `start`; `isWhole`: the part has all of its end. */
function pageIn(
  content: Buffer,
  start: number,
  from: EventMark,
  { path, most, isWhole }: { readonly path: string; readonly most: number; readonly isWhole: boolean },
): EventPage {
  let at = from.bytes - start;
  if (from.bytes === 0) {
    const header = endOfHeader(content, path);
    if (header === null) return { events: [], next: from, isEnd: isWhole };
    at = header;
  } else if (content[0] !== NEWLINE) {
    const message = `${path} has changed: no line of it begins at byte ${from.bytes} any more`;
    throw new JournalError('damaged', message);
  }
  const events: LoopEvent[] = [];
  const next = (): EventMark => ({ events: from.events + events.length, bytes: start + at });
  while (events.length < most) {
    const end = content.indexOf(NEWLINE, at);
    if (end < 0 && !isWhole) return { events, next: next(), isEnd: false };
    try {
      const number = from.events + events.length + 1;
      const event = end < 0 ? null : readLine(content.subarray(at, end), number, path);
      if (event === null) {
        if (!isWhole && events.length === 0) return { events, next: next(), isEnd: false };
        const damage = isWhole ? damageAt(content, at, path, number + 1) : null;
        if (damage !== null) throw damage;
        return { events, next: next(), isEnd: isWhole };
      }
      events.push(event);
    } catch (error) {
      // It is found again with the next page.
      if (events.length === 0) throw error;
      return { events, next: next(), isEnd: false };
    }
    at = end + 1;
  }
  return { events, next: next(), isEnd: isWhole && at === content.length };
}

/** All events of a journal, one by one. */
export function* eventsIn(path: string): Generator<LoopEvent, void, void> {
  for (let from = JOURNAL_START; ;) {
    const { events, next, isEnd } = readPage(path, from);
    yield* events;
    if (isEnd) return;
    from = next;
  }
}
