/** The journal of a loop, page by page and without secrets, for readers that go on where they were. */
import { statSync } from 'node:fs';
import { codeOf } from '../files/files.ts';
import { readPage, JOURNAL_START, type EventMark } from '../journal/pages.ts';
import type { LoopEvent } from '../loop/event.ts';
import { nullable, object, oneOf, optional, whole, type Rule } from '../loop/shape.ts';
import { watchUntil } from '../process/watch.ts';
import { journalProblem } from '../store/journal-problem.ts';
import { maskOf } from '../store/mask.ts';
import { isDriven, liveOwner, readLoopAt } from '../store/read-loop.ts';
import type { LoopFolder } from '../store/store.ts';
import { UserError } from '../user-error.ts';
import type { Call, LoopRef, Loops } from './loops.ts';

/** What is wanted of a journal. */
export interface EventsFrom {
  /** Where the page before ended; null for the first one. */
  readonly from: Mark | null;
  /** How many milliseconds to wait for news: events, or a loop that rests or goes on. */
  readonly wait?: number;
}

/** Where a reader is. What it means is no reader's business. */
export interface Mark extends EventMark {
  readonly after: After;
}

/** What comes after a page: `more` events at once; those that are still to happen; or none while no process drives the loop. */
type After = 'more' | 'driven' | 'rest';

export interface Page<T> {
  readonly events: readonly T[];
  readonly next: Mark;
  readonly after: After;
}

export const EVENTS_FROM: Rule = object({
  from: nullable(
    object({ events: whole(0), bytes: whole(0), after: oneOf(['more', 'driven', 'rest'] satisfies After[]) }),
  ),
  wait: optional(whole(0)),
});

export async function eventsOf(
  folder: LoopFolder,
  { from, wait = 0 }: EventsFrom,
  signal?: AbortSignal,
): Promise<Page<LoopEvent>> {
  const first = pageOf(folder, from);
  if (wait === 0 || isNews(first, from)) return masked(folder, first);
  const timeout = AbortSignal.timeout(Math.min(wait, LONGEST_WAIT_MS));
  let seen = '';
  const news = (): Page<LoopEvent> | null => {
    const now = `${stampOf(folder.journal)} ${afterOf(folder)}`;
    if (now === seen) return null;
    const page = pageOf(folder, from);
    seen = now;
    return isNews(page, from) ? page : null;
  };
  const until = signal === undefined ? timeout : AbortSignal.any([timeout, signal]);
  return masked(folder, (await watchUntil(folder.path, news, until)) ?? first);
}

/** Of a timer. */
export const LONGEST_WAIT_MS: number = 2 ** 31 - 1;

function isNews({ events, after }: Page<LoopEvent>, from: Mark | null): boolean {
  return events.length > 0 || after !== from?.after;
}

function pageOf(folder: LoopFolder, from: Mark | null): Page<LoopEvent> {
  // Before it is read: an owner that ends afterwards has written its last event.
  const present = afterOf(folder);
  const owner = liveOwner(folder);
  try {
    // What another process has made of the journal is not shown.
    const problem = journalProblem(folder, null, owner);
    if (problem !== null) throw new UserError(readLoopAt(folder)?.trouble ?? problem.message);
    const { events, next, isEnd } = readPage(folder.journal, from ?? JOURNAL_START);
    const after = isEnd ? present : 'more';
    return { events, next: { ...next, after }, after };
  } catch (error) {
    // Its owner writes a journal again that was removed.
    if (codeOf(error) === 'ENOENT' && owner !== null)
      return { events: [], next: { ...(from ?? JOURNAL_START), after: present }, after: present };
    const problem = error instanceof UserError ? null : journalProblem(folder, error, owner);
    throw problem === null ? error : new UserError(problem.message);
  }
}

function afterOf(folder: LoopFolder): After {
  return isDriven(folder) ? 'driven' : 'rest';
}

function stampOf(path: string): string {
  const { ino, size, mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? {};
  return `${ino} ${size} ${mtimeMs}`;
}

function masked(folder: LoopFolder, page: Page<LoopEvent>): Page<LoopEvent> {
  return { ...page, events: maskOf(folder).value(page.events) };
}

/** The events of a loop that have happened, one page after the other. */
export async function* pagesOf(
  loops: Pick<Loops, 'events'>,
  loop: LoopRef,
  call?: Call,
): AsyncGenerator<Page<LoopEvent>, void, void> {
  for (let from: Mark | null = null; ;) {
    // oxlint-disable-next-line no-await-in-loop -- one page after the other
    const page: Page<LoopEvent> = await loops.events(loop, { from }, call);
    yield page;
    if (page.after !== 'more') return;
    from = page.next;
  }
}
