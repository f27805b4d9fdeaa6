/**
 * What people want to know about a loop and the core does not need: what every iteration did, claimed, passed and cost.
 * It is folded from the journal beside the state, event by event. Its size does not grow with the iterations, unless
 * all of them are asked for.
 */
import { stopReason, type Outcome, type StopReason } from './outcome.ts';
import type { CheckResult, Evidence, LoopEvent, Restoration } from './event.ts';
import type { StrayProcess } from './receipt.ts';
import { evolve } from './evolve.ts';
import { INITIAL } from './initial.ts';
import { limitChanges, type LimitChange } from './limit-changes.ts';
import { inIteration, startedIteration, type IterationReport } from './iteration-report.ts';
import { addRun, NOTHING_SPENT, spentSoFar } from './limits.ts';
import { childrenAfter, childrenWaitAfter, type ChildReport, type ChildrenWait } from './child-report.ts';
import { planReport, type PlanReport } from './plan.ts';
import { openRun } from './run.ts';
import type { LoopState, Spend } from './state.ts';
import { NO_WAITS, waitsAfter, type WaitReport } from './wait-report.ts';
import { isCommit } from './words.ts';
import { isWholeCost } from './charge.ts';

/** The report of a whole journal, with all its iterations and the time from its first event to its last. */
export function report(events: Iterable<LoopEvent>): LoopReport & { readonly totalDuration: number } {
  let known = NOTHING_KNOWN;
  for (const event of events) known = learn(known, event, Number.POSITIVE_INFINITY);
  const { now } = known.state;
  return { ...known.report, totalDuration: now - (known.report.startedAt ?? now) };
}

/** What a journal says so far: the state that the core decides on, and the report for people. */
export interface Knowledge {
  readonly state: LoopState;
  readonly report: LoopReport;
}

/** What is known after one more event, with the last `keep` iterations in the report. */
export function learn({ state, report: before }: Knowledge, event: LoopEvent, keep?: number): Knowledge {
  const after = evolve(state, event);
  const known = reportAfter(before, event, state, keep);
  const childrenWait = childrenWaitAfter(known.childrenWait, event, after);
  const waits = waitsAfter(known.waits, event, state, after);
  const isSame = childrenWait === known.childrenWait && waits === known.waits;
  return { state: after, report: isSame ? known : { ...known, childrenWait, waits } };
}

export interface LoopReport {
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly outcome: Outcome | null;
  readonly success: boolean;
  readonly stopReason: StopReason | null;
  /** Whether its creator or its last owner has left the loop to the next one, instead of crashing. */
  readonly isLeft: boolean;
  /** In order; earlier ones may be left out. */
  readonly iterations: readonly IterationReport[];
  /** The sums of all iterations before the last. */
  readonly earlier: { readonly cost: number; readonly costIsKnown: boolean };
  readonly runs: number;
  /** Sum over all runs, as far as known. */
  readonly totalCost: number;
  /** Whether the cost of every run is known. */
  readonly costIsKnown: boolean;
  readonly usageLimits: number;
  /** How often the provider was unavailable. */
  readonly outages: number;
  readonly rejectedClaims: number;
  /** The checks that contradicted the last rejected claim. */
  readonly lastRejection: { readonly iteration: number; readonly failed: readonly string[] } | null;
  /** The results of the checks before the first iteration, in order. */
  readonly baseline: readonly CheckReport[];
  /** The latest results of the checks, in order. */
  readonly checks: readonly CheckReport[];
  /** Processes that may have escaped, of the last few runs. */
  readonly strays: readonly StrayProcess[];
  /** The child loops in the order in which they started: all that are active, and the last that have ended. */
  readonly children: readonly ChildReport[];
  /** How many there were. */
  readonly childrenStarted: number;
  /** The last wait for child loops; null if there was none since the last run. */
  readonly childrenWait: ChildrenWait | null;
  /** The waits that are over. */
  readonly waits: WaitReport;
  readonly commits: number;
  readonly lastCommit: string | null;
  /** The branch that a loop which commits started on; null if it is unknown. */
  readonly startBranch: string | null;
  /** The last few branches that it has committed on, the last one last; null stands for a detached HEAD. */
  readonly branches: readonly (string | null)[];
  /** What went wrong with the last commit or one of its tasks. */
  readonly commitError: string | null;
  readonly lastControl: 'person' | 'signal' | null;
  /** Limits that were changed while the loop ran; the last few. */
  readonly limitChanges: readonly LimitChange[];
  /** What the last examination of the evidence found; null before the first. */
  readonly evidence: Evidence | null;
  /** The tree of the last checkpoint; null before the first. */
  readonly lastTree: string | null;
  /** Claims that were rejected because of a protected file. */
  readonly protectedClaims: number;
  /** The first few protected files that Ralph put back, and how often it put back one that is not among them. */
  readonly restored: readonly string[];
  readonly moreRestored: number;
  /** What the last probe found in the plan; null without one. */
  readonly plan: PlanReport | null;
}

export interface CheckReport {
  readonly command: string;
  readonly result: CheckResult;
}

/** An unknown cost is not zero. */
export function costText(usd: number, isKnown: boolean): string {
  if (!isKnown && usd === 0) return 'unknown';
  return `${isKnown ? '' : 'over '}$${usd.toFixed(4)}`;
}

/** What an iteration used. */
export interface IterationSpend extends Spend {
  readonly iteration: number;
}

const SHOWN_SPENDS = 20;

/** What the last iterations used in their ended runs. */
export function spends({ iterations }: LoopReport): readonly IterationSpend[] {
  return iterations
    .flatMap(({ iteration, spent }) => (spent === null ? [] : [{ ...spent, iteration }]))
    .slice(-SHOWN_SPENDS);
}

/** The same with the open run, which belongs to the last iteration. */
export function spendsWithOpenRun(known: LoopReport, state: LoopState): readonly IterationSpend[] {
  const open = openRun(state);
  const last = known.iterations.at(-1);
  if (open === null || last === undefined) return spends(known);
  const spent = addRun(last.spent ?? NOTHING_SPENT, open);
  return spends({ ...known, iterations: [...known.iterations.slice(0, -1), { ...last, spent }] });
}

/**
 * What a loop has used, including the running agent: in total, and in the last few iterations. The running agent is not
 * counted as a run of unknown usage, since it may report its usage later.
 */
export function spendOf({ state, report: known }: Knowledge): {
  readonly total: Spend;
  readonly iterations: readonly IterationSpend[];
} {
  const total = spentSoFar(state);
  const iterations = spendsWithOpenRun(known, state);
  const last = iterations.at(-1);
  const running = openRun(state)?.output;
  if (running === undefined || last === undefined) return { total, iterations };
  const withoutRunning = <T extends Spend>(spend: T): T => ({
    ...spend,
    unknownRuns: spend.unknownRuns - (isWholeCost(running.cost) ? 0 : 1),
    unknownTokenRuns: spend.unknownTokenRuns - (running.tokens === null ? 1 : 0),
  });
  return { total: withoutRunning(total), iterations: [...iterations.slice(0, -1), withoutRunning(last)] };
}

/** The report with one more event in it; `state` is the state before that event. */
function reportAfter(
  before: LoopReport,
  event: LoopEvent,
  state: LoopState,
  keep: number = KEPT_ITERATIONS,
): LoopReport {
  if (event.type === 'iteration.started') return withIteration(before, event, keep);
  const after = inLoop(before, event, state);
  const last = after.iterations.at(-1);
  // Events before the first iteration, such as the checks of the baseline, belong to none.
  if (last === undefined || ('iteration' in event && event.iteration !== last.iteration)) return after;
  const updated = inIteration(last, event, state);
  if (updated === last) return after;
  const duration = event.at - updated.startedAt;
  return {
    ...after,
    iterations: [...after.iterations.slice(0, -1), { ...updated, duration }],
    totalCost: after.earlier.cost + updated.cost,
    costIsKnown: after.earlier.costIsKnown && updated.costIsKnown,
  };
}

/** Twenty that have ended, and the one that runs. */
const KEPT_ITERATIONS = 21;

function withIteration(
  before: LoopReport,
  { iteration, at }: Extract<LoopEvent, { type: 'iteration.started' }>,
  keep: number,
): LoopReport {
  const kept = before.iterations.slice(Math.max(0, before.iterations.length + 1 - keep));
  return {
    ...before,
    iterations: [...kept, startedIteration(iteration, at)],
    earlier: { cost: before.totalCost, costIsKnown: before.costIsKnown },
  };
}

/** What an event adds to the loop as a whole. */
function inLoop(before: LoopReport, event: LoopEvent, state: LoopState): LoopReport {
  switch (event.type) {
    case 'loop.ended':
      return {
        ...before,
        endedAt: event.at,
        outcome: event.outcome,
        success: event.outcome.type === 'done',
        stopReason: stopReason(event.outcome),
      };
    case 'loop.reopened':
      return { ...before, endedAt: null, outcome: null, success: false, stopReason: null };
    case 'run.planned':
      return { ...before, runs: before.runs + 1 };
    case 'run.ended':
      return {
        ...before,
        strays: [...before.strays, ...(event.strays ?? [])].slice(-KEPT_STRAYS),
        usageLimits: before.usageLimits + (event.as === 'usage-limit' ? 1 : 0),
        outages: before.outages + (event.as === 'outage' ? 1 : 0),
      };
    case 'checks.started':
      return { ...before, checks: [] };
    case 'check.finished': {
      const { command, result, iteration } = event;
      return iteration === 0
        ? { ...before, baseline: [...before.baseline, { command, result }] }
        : { ...before, checks: [...before.checks, { command, result }] };
    }
    case 'claim.rejected':
      return {
        ...before,
        // A claim of a failed run is part of that failure.
        rejectedClaims: before.rejectedClaims + (event.because === 'run-failed' ? 0 : 1),
        protectedClaims: before.protectedClaims + (event.because === 'protected-change' ? 1 : 0),
        lastRejection: { iteration: event.iteration, failed: event.failed },
      };
    case 'commit.made': {
      // A task that failed may be carried out later, for the same commit.
      const isNew = event.commit === null || event.commit !== before.lastCommit;
      return {
        ...before,
        commits: before.commits + (isNew && event.done.some(isCommit) ? 1 : 0),
        lastCommit: event.commit ?? before.lastCommit,
        branches: branchesAfter(before.branches, event),
        // An iteration without changes does not make an earlier error good.
        commitError: event.error ?? (event.done.length > 0 ? null : before.commitError),
      };
    }
    case 'evidence.examined': {
      const { changed, more, protected: count, problem } = event;
      return { ...before, evidence: { changed, more, protected: count, problem } };
    }
    case 'evidence.restored': {
      const names = event.restored.filter((path) => !before.restored.includes(path));
      const all = [...before.restored, ...names];
      const beyond = Math.max(0, all.length - KEPT_RESTORED) + event.more;
      return {
        ...before,
        evidence: before.evidence === null ? null : withoutRestored(before.evidence, event),
        restored: all.slice(0, KEPT_RESTORED),
        moreRestored: before.moreRestored + beyond,
      };
    }
    case 'probe.finished': {
      const file = state.policy.plan?.file;
      if (event.plan === undefined || file === undefined) return before;
      return { ...before, plan: planReport(before.plan, file, event.plan) };
    }
    case 'policy.changed':
    case 'control.received': {
      const changes = [...before.limitChanges, ...limitChanges(event, state)].slice(-KEPT_CHANGES);
      const known = { ...before, limitChanges: changes };
      if (event.type === 'policy.changed') return known;
      return { ...known, lastControl: event.control.type === 'signal' ? 'signal' : 'person' };
    }
    case 'loop.created':
      return { ...before, startedAt: event.at, isLeft: event.left === true };
    case 'owner.left':
      return { ...before, isLeft: true };
    case 'owner.changed':
      return before.isLeft ? { ...before, isLeft: false } : before;
    case 'start.recorded':
      return { ...before, startBranch: event.branch ?? null };
    case 'checkpoint.taken':
      return { ...before, lastTree: event.tree ?? before.lastTree };
    case 'iteration.started':
    case 'run.started':
    case 'run.output':
    case 'claim.made':
    case 'claim.accepted':
    case 'changes.found':
    case 'limit.shared':
    case 'unchanged.noticed':
    case 'family.counted':
    case 'limit.neared':
    case 'timer.fired':
      return before;
    case 'child.started':
    case 'child.ended':
      return {
        ...before,
        children: childrenAfter(before.children, event),
        childrenStarted: before.childrenStarted + (isNewChild(before, event) ? 1 : 0),
      };
    case 'question.asked':
      return before;
  }
}

/** A child that was resumed starts again. */
function isNewChild({ children }: LoopReport, { type, child }: ChildEvent): boolean {
  return type === 'child.started' && !children.some((one) => one.child === child);
}

type ChildEvent = Extract<LoopEvent, { type: 'child.started' | 'child.ended' }>;

/** What is still changed after files were put back. */
function withoutRestored(found: Evidence, { restored, more, failed, moreFailed }: Restoration): Evidence {
  return {
    ...found,
    changed: found.changed.filter(({ as, path }) => as !== 'protected' || !restored.includes(path)),
    more: Math.max(0, found.more - more),
    protected: failed.length + moreFailed,
  };
}

function branchesAfter(
  before: LoopReport['branches'],
  { commit, branch }: Extract<LoopEvent, { type: 'commit.made' }>,
): LoopReport['branches'] {
  if (commit === null || branch === undefined) return before;
  return [...before.filter((one) => one !== branch), branch].slice(-KEPT_BRANCHES);
}

const KEPT_BRANCHES = 5;
const KEPT_STRAYS = 20;
const KEPT_RESTORED = 8;
const KEPT_CHANGES = 10;

const EMPTY_REPORT: LoopReport = {
  startedAt: null,
  endedAt: null,
  outcome: null,
  success: false,
  stopReason: null,
  isLeft: false,
  iterations: [],
  earlier: { cost: 0, costIsKnown: true },
  runs: 0,
  totalCost: 0,
  costIsKnown: true,
  usageLimits: 0,
  outages: 0,
  rejectedClaims: 0,
  lastRejection: null,
  baseline: [],
  checks: [],
  strays: [],
  children: [],
  childrenStarted: 0,
  childrenWait: null,
  waits: NO_WAITS,
  commits: 0,
  lastCommit: null,
  startBranch: null,
  lastTree: null,
  branches: [],
  commitError: null,
  lastControl: null,
  limitChanges: [],
  evidence: null,
  protectedClaims: 0,
  restored: [],
  moreRestored: 0,
  plan: null,
};

/** Before the first event. */
export const NOTHING_KNOWN: Knowledge = { state: INITIAL, report: EMPTY_REPORT };
