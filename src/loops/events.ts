/**
 * What happens in a loop, page by page and without secrets, for readers that go on where they were: the events of its journal and, if
 * asked for, what its agents do between them.
 *
 * 1. A reader that goes on from the mark of each page gets every event once and in order, also over a crash of the owner or its own.
 * 2. What an agent has done is told after the start of its run, and before its end.
 * 3. Instead of all that has happened before, a reader can begin with what the loop is now, or was before its last iteration.
 */
import { join } from 'node:path';
import type { AgentEvent } from '../agents/agent.ts';
import { codeOf, foundAt } from '../files/files.ts';
import { readPage, JOURNAL_START, type EventMark } from '../journal/pages.ts';
import type { LoopEvent } from '../loop/event.ts';
import { learn, NOTHING_KNOWN, type LoopReport } from '../loop/report.ts';
import { openRun } from '../loop/run.ts';
import { anyOf, flag, nullable, object, oneOf, optional, whole, type Rule } from '../loop/shape.ts';
import type { LoopState } from '../loop/state.ts';
import { firstOf } from '../process/first-of.ts';
import { endOfWait, watchUntil } from '../process/watch.ts';
import { journalProblem } from '../home/journal-problem.ts';
import { maskOf } from '../home/mask.ts';
import { isDriven, liveOwner, readLoopAt } from '../home/read-loop.ts';
import type { LoopFolder } from '../home/home.ts';
import { UserError } from '../user-error.ts';
import type { AgentMark } from './agent-stream.ts';
import { stampOf } from './list.ts';
import type { Call, LoopRef, Loops } from './loops.ts';
import { hasEnded, RUN_ID } from './output.ts';

/** What is wanted of a loop. */
export interface EventsFrom {
  /**
   * Where the page before ended; null for the first event, `snapshot` for what the loop is now, `iteration` for what it was before its
   * last iteration.
   */
  readonly from: From;
  /** Also what its agents do. */
  readonly agent?: boolean;
  /** Only what the agent of this run does. */
  readonly run?: string;
}

export type From = Mark | 'snapshot' | 'iteration' | null;

/** Where a reader is. What it means is no reader's business. */
export interface Mark extends EventMark {
  readonly after: After;
  /** How far the output of the open run was told. */
  readonly agent?: AgentMark;
}

/** What comes after a page: `more` at once; what is still to happen; or nothing while no process drives the loop. */
type After = 'more' | 'driven' | 'rest';

export interface Page {
  readonly told: readonly Told[];
  readonly next: Mark;
  readonly after: After;
}

export type Told =
  /** The loop after this event of its journal; the first one has the number 1. */
  | {
      readonly is: 'snapshot';
      readonly number: number;
      readonly state: LoopState;
      readonly report: LoopReport;
    }
  | { readonly is: 'event'; readonly number: number; readonly event: LoopEvent }
  | { readonly is: 'agent'; readonly run: string; readonly event: AgentEvent };

const AGENT_MARK = object({
  run: RUN_ID,
  startedAt: whole(0),
  bytes: whole(0),
  released: optional(whole(0)),
});
export const EVENTS_FROM: Rule = object({
  from: nullable(
    anyOf('a mark', [
      oneOf(['snapshot', 'iteration']),
      object({
        events: whole(0),
        bytes: whole(0),
        after: oneOf(['more', 'driven', 'rest'] satisfies After[]),
        agent: optional(AGENT_MARK),
      }),
    ]),
  ),
  agent: optional(flag),
  run: optional(RUN_ID),
});

/** The next page; an empty one once the call has waited long enough for it. */
export async function toldOf(folder: LoopFolder, part: EventsFrom, call: Call = {}): Promise<Page> {
  const { from, agent = part.run !== undefined } = part;
  if (from === 'snapshot') return snapshotOf(folder, agent);
  if (from === 'iteration') return iterationOf(folder);
  const until = endOfWait(call);
  const run = agent ? (part.run ?? from?.agent?.run ?? null) : null;
  const watched = run === null ? folder.path : [folder.path, folder.run(run)];
  let isPaused = until.aborted;
  for (let at = from; ;) {
    const seen = newsStamp(folder, run);
    const then = isPaused ? 'pause' : 'middle';
    // oxlint-disable-next-line no-await-in-loop -- until there is news
    const page = await (part.run === undefined
      ? pageOf(folder, at, agent ? then : null, call.signal)
      : runPage(folder, at, { run: part.run, follows: then }, call.signal));
    if (until.aborted || page.told.length > 0 || page.after === 'more' || page.after !== at?.after)
      return page;
    // A line of the agent that is not complete was read.
    at = page.next;
    const look = (): true | null => (newsStamp(folder, run) === seen ? null : true);
    const time = isPaused || run === null ? until : firstOf(until, AbortSignal.timeout(PAUSE_MS));
    // oxlint-disable-next-line no-await-in-loop -- as above
    isPaused = (await watchUntil(watched, look, time)) === null;
  }
}

/** How long the last word of an agent waits for its rest. */
const PAUSE_MS = 200;

/** What is compared to see whether there may be news. */
function newsStamp(folder: LoopFolder, run: string | null): string {
  const files = [folder.journal, ...(run === null ? [] : [join(folder.run(run), 'stdout.log')])];
  return `${afterOf(folder)} ${stampOf(files.map(foundAt))}`;
}

function snapshotOf(folder: LoopFolder, agent: boolean): Page {
  const loop = readLoopAt(folder);
  if (loop === null || loop.trouble !== null)
    throw new UserError(loop?.trouble ?? `there is no loop in ${folder.path}`);
  const { state, report } = maskOf(folder).value({ state: loop.state, report: loop.report });
  const open = agent ? openRun(loop.state) : null;
  const mark = open === null ? {} : { agent: { run: open.id, startedAt: open.plannedAt, bytes: 0 } };
  return {
    told: [{ is: 'snapshot', number: loop.read.events, state, report }],
    next: { ...loop.read, after: 'more', ...mark },
    after: 'more',
  };
}

/** The loop as it was before its last iteration. */
function iterationOf(folder: LoopFolder): Page {
  const last = readLoopAt(folder)?.state.iteration ?? 0;
  let known = NOTHING_KNOWN;
  for (let from = JOURNAL_START; ;) {
    const { events, next, after } = journalPage(folder, from);
    const index = events.findIndex(
      (event) => last === 0 || (event.type === 'iteration.started' && event.iteration >= last),
    );
    for (const event of index < 0 ? events : events.slice(0, index)) known = learn(known, event);
    if (index < 0 && after === 'more') {
      from = next;
      continue;
    }
    const place =
      index < 0 ? next : index === 0 ? from : readPage(folder.journal, from, { events: index }).next;
    return {
      told: [{ is: 'snapshot', number: place.events, ...maskOf(folder).value(known) }],
      next: { ...place, after: 'more' },
      after: 'more',
    };
  }
}

/** What the agent of a run does. */
async function runPage(
  folder: LoopFolder,
  from: Mark | null,
  { run, follows }: { readonly run: string; readonly follows: 'pause' | 'middle' },
  signal?: AbortSignal,
): Promise<Page> {
  const ended = hasEnded(folder, run, 'stdout');
  const present = afterOf(folder);
  const { agentPage } = await import('./agent-stream.ts');
  // The start matters only for when a usage limit resets.
  const at = from?.agent ?? { run, startedAt: 0, bytes: 0 };
  const page = await agentPage(folder, at, ended ? 'end' : follows, signal);
  const after = !page.isEnd ? 'more' : ended ? 'rest' : present;
  return {
    told: page.events.map((event) => ({ is: 'agent', run, event })),
    next: { ...JOURNAL_START, after, agent: page.next },
    after,
  };
}

/** `then` is for the open run, and null without what agents do. */
async function pageOf(
  folder: LoopFolder,
  from: Mark | null,
  then: 'pause' | 'middle' | null,
  signal?: AbortSignal,
): Promise<Page> {
  const { events, next, after } = journalPage(folder, from);
  const first = (from?.events ?? 0) + 1;
  const mask = maskOf(folder);
  const toldAs = (event: LoopEvent, index: number): Told => ({
    is: 'event',
    number: first + index,
    event: mask.value(event),
  });
  if (then === null) return { told: events.map(toldAs), next: { ...next, after }, after };
  const told: Told[] = [];
  let open = from?.agent ?? null;
  let isFull = false;
  const tellAgent = async (at: AgentMark, follows: 'pause' | 'middle' | 'end'): Promise<boolean> => {
    // The parsers of all agents.
    const { agentPage } = await import('./agent-stream.ts');
    const page = await agentPage(folder, at, follows, signal);
    told.push(...page.events.map((event): Told => ({ is: 'agent', run: at.run, event })));
    open = page.next;
    isFull = true;
    return page.isEnd;
  };
  const pageUntil = (index: number): Page => {
    const at =
      index === 0
        ? (from ?? JOURNAL_START)
        : readPage(folder.journal, from ?? JOURNAL_START, { events: index }).next;
    const mark = { events: at.events, bytes: at.bytes, after: 'more' as const };
    return { told, next: { ...mark, ...(open === null ? {} : { agent: open }) }, after: 'more' };
  };
  for (const [index, event] of events.entries()) {
    if (open !== null && endsRun(event, open.run)) {
      // One piece of an output is enough for a page.
      // oxlint-disable-next-line no-await-in-loop -- one run after the other
      if (isFull || !(await tellAgent(open, 'end'))) return pageUntil(index);
      open = null;
    }
    told.push(toldAs(event, index));
    // Again, if another owner has reattached to the agent.
    if (event.type === 'run.started') open ??= { run: event.run, startedAt: event.at, bytes: 0 };
  }
  const isAll = open === null || after === 'more' || (!isFull && (await tellAgent(open, then)));
  const follows = isAll ? after : 'more';
  return {
    told,
    next: { ...next, after: follows, ...(open === null ? {} : { agent: open }) },
    after: follows,
  };
}

/** Whether nothing of a run comes after this event. */
function endsRun(event: LoopEvent, run: string): boolean {
  return event.type === 'run.ended' || (event.type === 'run.started' && event.run !== run);
}

interface JournalPage {
  readonly events: readonly LoopEvent[];
  readonly next: EventMark;
  readonly after: After;
}

function journalPage(folder: LoopFolder, from: EventMark | null): JournalPage {
  const start = from === null ? JOURNAL_START : { events: from.events, bytes: from.bytes };
  // Before it is read: an owner that ends afterwards has written its last event.
  const present = afterOf(folder);
  const owner = liveOwner(folder);
  try {
    // What another process has made of the journal is not shown.
    const problem = journalProblem(folder, null, owner);
    if (problem !== null) throw new UserError(readLoopAt(folder)?.trouble ?? problem.message);
    const { events, next, isEnd } = readPage(folder.journal, start);
    return { events, next, after: isEnd ? present : 'more' };
  } catch (error) {
    // Its owner writes a journal again that was removed.
    if (codeOf(error) === 'ENOENT' && owner !== null) return { events: [], next: start, after: present };
    const problem = error instanceof UserError ? null : journalProblem(folder, error, owner);
    throw problem === null ? error : new UserError(problem.message);
  }
}

function afterOf(folder: LoopFolder): After {
  return isDriven(folder) ? 'driven' : 'rest';
}

/** The events of the journal in a page. */
export function eventsIn({ told }: Page): readonly LoopEvent[] {
  return told.flatMap((one) => (one.is === 'event' ? [one.event] : []));
}

/** The events of a loop that have happened, one page after the other. */
export async function* pagesOf(
  loops: Pick<Loops, 'events'>,
  loop: LoopRef,
  call?: Call,
): AsyncGenerator<{ readonly events: readonly LoopEvent[]; readonly next: Mark }, void, void> {
  for (let from: Mark | null = null; ;) {
    // oxlint-disable-next-line no-await-in-loop -- one page after the other
    const page: Page = await loops.events(loop, { from }, call);
    yield { events: eventsIn(page), next: page.next };
    if (page.after !== 'more') return;
    from = page.next;
  }
}
