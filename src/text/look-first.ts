/** What a person should look at first in the morning, and which loops need one. */
import type { EndRecord } from '../projections/end-record.ts';
import type { LoopFacts } from '../loops/facts.ts';
import type { LoopRow } from '../loops/list.ts';
import { shortList } from '../loop/counted.ts';
import { brief, visible } from './one-line.ts';

/** What to look at first, the most important first; nothing if all is as it should be. */
export function lookFirst(facts: LoopFacts): readonly string[] {
  const { status, end, questions, name } = facts;
  const [question] = questions;
  const open = end.failingChecks.find(({ failedBefore }) => failedBefore === false) ?? end.failingChecks[0];
  return [
    ...(question === undefined
      ? []
      : [`the question "${visible(question.text)}"; answer it with: ralph answer ${name} "…"`]),
    ...(status === 'waiting' ? [`what the agent asks for: ralph logs ${name}`] : []),
    ...(status === 'crashed' ? [`why its process died: ralph story ${name}`] : []),
    ...verdictDoubts(facts),
    ...(open === undefined || isGoingOn(status) ? [] : [`the output of ${brief(open.command)}: ${open.log}`]),
    ...(end.commitError === null ? [] : ['the commit that failed']),
    ...((end.plan?.tickedAlone.length ?? 0) === 0
      ? []
      : ['items of the plan that were ticked without a change']),
    ...(end.childrenLeft.length === 0 || isGoingOn(status) ? [] : ['child loops that still run']),
    ...(end.strays.length === 0 ? [] : ['processes that the agent may have left running']),
  ].slice(0, MOST);
}

const MOST = 3;

/** Why the checks may say less than they seem to. */
function verdictDoubts({ end, name, changes }: LoopFacts): readonly string[] {
  const { changed } = end.evidence;
  const names = changed.filter(({ as }) => as !== 'prompt').map(({ path }) => visible(path));
  const isUnverified = end.outcome?.type === 'done' && !end.outcome.verified;
  const isEmpty = changes === null || changes.count === 0;
  return [
    ...(names.length === 0 ? [] : [`the changes in what verifies the work: ${shortList(names, 3)}`]),
    ...(isUnverified && !isEmpty ? [`the changes, which no check has verified: ralph diff ${name}`] : []),
  ];
}

function isGoingOn(status: LoopFacts['status']): boolean {
  return status === 'running' || status === 'in-session';
}

/** Whether a loop does not go on, or cannot be believed to be done, without a person. */
export function needsPerson(facts: Parameters<typeof urgency>[0]): boolean {
  return urgency(facts) < 3;
}

/** The order in which loops are reported: 0 comes first. */
export function urgency(facts: Pick<LoopFacts, 'status' | 'questions' | 'end' | 'parent'>): number {
  const { status, questions, end, parent } = facts;
  if (questions.length > 0 || status === 'waiting' || status === 'unreadable') return 0;
  if (isGoingOn(status)) return 5;
  // The agent that started a child knows how it ended, and goes on.
  if (parent !== null) return 4;
  if (FAILED.has(status)) return 1;
  // A person who stops a loop knows that it does not go on; SIGTERM may have come from the machine.
  if (end.outcome?.type === 'stopped' && end.outcome.signal !== 'SIGTERM') return 4;
  if (status !== 'done') return 2;
  return isDoubtful(end) ? 3 : 4;
}

/** The same of a row of a list. */
export function rowNeedsPerson(row: LoopRow): boolean {
  return needsPerson(factsOf(row));
}

function factsOf({ status, questions = [], record, parent }: LoopRow): Parameters<typeof urgency>[0] {
  return { status, questions, end: record, parent };
}

/** The loops in which something has happened since then, those that need a person first. */
export function ofTheNight(rows: readonly LoopRow[], since: number): readonly LoopRow[] {
  return rows
    .filter((row) => row.owner !== null || row.status === 'unreadable' || drivenAt(row) >= since)
    .toSorted((a, b) => urgency(factsOf(a)) - urgency(factsOf(b)) || drivenAt(b) - drivenAt(a));
}

/** Until when it was driven, as far as its record says; of a loop that runs, about now. */
export function drivenAt({ worker, record }: LoopRow): number {
  return (worker.startedAt ?? 0) + record.durationMs;
}

const FAILED: ReadonlySet<LoopFacts['status']> = new Set([
  'crashed',
  'fatal',
  'bad-input',
  'prompt-lost',
  'failures-exhausted',
]);

function isDoubtful({ outcome, evidence, commitError }: EndRecord): boolean {
  const isVerified = outcome?.type !== 'done' || outcome.verified;
  return !isVerified || evidence.changed.length > 0 || commitError !== null;
}
