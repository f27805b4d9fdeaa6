/** The facts of one loop for its report, as data: what it is, how it ended, what it changed, and what happened meanwhile. */
import { readFailingTests } from '../projections/check-output.ts';
import { type ChildRecord, type EndRecord, endRecord } from '../projections/end-record.ts';
import { familyNow } from '../home/family.ts';
import { type Mask, maskOf } from '../home/mask.ts';
import { type LoopReading, readLoopOf } from '../home/read-loop.ts';
import { LoopFolder } from '../home/home.ts';
import type { Spec } from '../home/spec.ts';
import { JOURNAL_START } from '../journal/pages.ts';
import type { IterationReport } from '../loop/iteration-report.ts';
import type { LimitUse } from '../loop/limit-use.ts';
import type { OpenQuestion } from '../loop/questions.ts';
import { NOTHING_KNOWN } from '../loop/report.ts';
import { hideKeys } from '../loop/secrets.ts';
import { UserError } from '../user-error.ts';
import { type About, type AgentFacts, aboutOf, agentOf } from './about.ts';
import { type ChangedFiles, changedFilesOf } from './changed-files.ts';
import { type EventsFrom, type Page, pagesOf, toldOf } from './events.ts';
import { refOf } from './find.ts';
import type { LoopRef } from './loops.ts';
import { checkOutput } from './result.ts';
import { type Night, nightOf } from './night.ts';
import { type LoopSummary, summaryOf } from './summary.ts';
import { type WorktreeSummary, workOf } from './worktrees.ts';

export interface LoopFacts extends LoopRef {
  /** The id of the loop that it is a child of; null if it has none. */
  readonly parent: string | null;
  readonly status: LoopSummary['status'];
  /** The process that drives it now; null if none does. */
  readonly owner: number | null;
  readonly task: About['task'];
  readonly agent: About['agent'];
  /** The moment from which the night counts; 0 for the whole loop. */
  readonly since: number;
  readonly startedAt: number | null;
  /** The time of its last event. */
  readonly lastAt: number;
  /** How it ended, or where it stands; the sums in it are those of the whole loop. */
  readonly end: EndRecord;
  /** What it waits for now. */
  readonly waiting: string | null;
  /** Those without an answer. */
  readonly questions: readonly OpenQuestion[];
  readonly limits: readonly LimitUse[];
  readonly checks: readonly CheckFacts[];
  /** Null if its journal cannot be read, or it was not asked for. */
  readonly night: Night | null;
  /** Null if there is nothing to compare. */
  readonly changes: ChangedFiles | null;
  readonly children: readonly ChildFacts[];
  /** The work that exists only in its worktree; null if that is unknown. */
  readonly work: WorktreeSummary['work'] | null;
}

export interface CheckFacts {
  readonly command: string;
  /** Whether it passed before the first iteration, and when it was last run; null if it was not run then. */
  readonly before: boolean | null;
  readonly after: boolean | null;
  /** The last 2000 characters that it printed if it failed; null if it did not. */
  readonly output: string | null;
}

export interface ChildFacts extends Omit<ChildRecord, 'status'> {
  readonly status: ChildRecord['status'] | LoopSummary['status'];
  readonly agent: AgentFacts | null;
  /** Of the child and the loops below it; null if it is unknown. */
  readonly costUsd: number | null;
}

export interface FactsOptions {
  /** Only what happened since then, except for the sums of the loop; null leaves out the night. */
  readonly since?: number | null;
  /** Whether to read the logs of failed checks for the number of failing tests. */
  readonly countsTests?: boolean;
}

/** The facts of a loop, without secrets. */
export async function factsOf(
  loop: LoopReading,
  { since = 0, countsTests = false, end }: FactsOptions & { readonly end?: EndRecord } = {},
): Promise<LoopFacts> {
  const { spec, state, report } = loop;
  const mask = maskOf(spec);
  const summary = summaryOf(loop);
  const isReadable = summary.status !== 'unreadable';
  const record = end ?? summary.record;
  const { task, agent } = aboutOf(loop);
  return mask.value<LoopFacts>({
    ...refOf(loop),
    parent: summary.parent,
    status: summary.status,
    owner: summary.owner,
    task,
    agent,
    since: since === null || since <= (report.startedAt ?? since) ? 0 : since,
    startedAt: isReadable ? report.startedAt : null,
    lastAt: isReadable ? state.now : 0,
    end: record,
    waiting: summary.waiting,
    questions: summary.questions ?? [],
    limits: summary.limits,
    checks: isReadable ? checksOf(loop, mask) : [],
    night: isReadable && since !== null ? await night(loop, since, countsTests ? mask : null) : null,
    changes: isReadable ? await changedFilesOf(loop) : null,
    children: record.children.map(childOf),
    work: await workOf(spec),
  });
}

/** The same at the end of a loop that this process has shown; its files may be gone. */
export async function factsAtEnd(spec: Spec, end: EndRecord): Promise<LoopFacts> {
  const gone = {
    ...NOTHING_KNOWN,
    folder: new LoopFolder(spec),
    spec,
    owner: null,
    read: JOURNAL_START,
    trouble: 'its files are gone',
  };
  return factsOf(readLoopOf(spec.id) ?? gone, { end });
}

async function night(loop: LoopReading, since: number, mask: Mask | null): Promise<Night | null> {
  const { folder } = loop;
  const events = {
    events: async (_: LoopRef, part: EventsFrom): Promise<Page> => toldOf(folder, part),
  };
  const countTests = (one: IterationReport): number | null => {
    if (mask === null) return null;
    const counts = one.checkResults
      .filter(({ passed }) => !passed)
      .map(({ log }) => readFailingTests(folder.log(log), (text) => mask.text(text)));
    return counts.every((count) => count === null)
      ? null
      : counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  };
  try {
    return await nightOf(pagesOf(events, refOf(loop)), since, countTests);
  } catch (error) {
    // Its files may be removed or replaced meanwhile.
    if (error instanceof UserError) return null;
    throw error;
  }
}

function checksOf({ state, report, folder }: LoopReading, mask: Mask): readonly CheckFacts[] {
  return state.policy.checks.commands.map(({ command }) => {
    const resultIn = (results: typeof report.checks): (typeof report.checks)[number]['result'] | undefined =>
      results.find((one) => one.command === command)?.result;
    const [before, after] = [resultIn(report.baseline), resultIn(report.checks)];
    return {
      command: hideKeys(command),
      before: before === undefined ? null : before.code === 0,
      after: after === undefined ? null : after.code === 0,
      output: after === undefined || after.code === 0 ? null : checkOutput(folder.log(after.log), mask),
    };
  });
}

function childOf(record: ChildRecord): ChildFacts {
  const loop = readLoopOf(record.id);
  if (loop === null || loop.trouble !== null) return { ...record, agent: null, costUsd: null };
  const { spent } = loop.state;
  const { below } = familyNow(loop.spec, loop.state);
  const isUnknown = spent.source === null && below.usd === 0;
  return {
    ...record,
    status: endRecord(loop.state, loop.report, loop.spec).outcome?.type ?? record.status,
    agent: agentOf(loop),
    costUsd: isUnknown ? null : spent.usd + below.usd,
  };
}
