/** The report of one iteration, folded from the events between its start and the next one's. */
import { isWholeCost } from './charge.ts';
import type { LoopEvent, Purpose } from './event.ts';
import { failureText } from './failure.ts';
import { addRun, NOTHING_SPENT } from './limits.ts';
import { isCutShort, openRun } from './run.ts';
import type { LoopState, Spend } from './state.ts';

export interface IterationReport {
  /** From 1. */
  readonly iteration: number;
  readonly startedAt: number;
  readonly duration: number;
  /** Of its last run for work that was not cut short. */
  readonly steps: number;
  /** Of all its runs. */
  readonly stepsTaken: number;
  readonly cost: number;
  readonly costIsKnown: boolean;
  /** What its ended runs used; null before the first of them has ended. */
  readonly spent: Spend | null;
  /** When its last run for work was planned. */
  readonly workPlannedAt: number;
  /** Its last run, and the sums of those before it. */
  readonly run: RunReport | null;
  readonly earlierRuns: { readonly cost: number; readonly costIsKnown: boolean; readonly steps: number };
  readonly checkResults: readonly { readonly name: string; readonly passed: boolean; readonly log: string }[];
  readonly allChecksPassed: boolean;
  readonly completionTagFound: boolean;
  readonly claim: 'none' | 'accepted' | 'rejected';
  readonly error: string | null;
}

export interface RunReport {
  readonly run: string;
  readonly purpose: Purpose;
  /** Null while the cost is unknown. */
  readonly cost: number | null;
  readonly steps: number;
}

/** The report of an iteration that has just begun. */
export function startedIteration(iteration: number, at: number): IterationReport {
  return {
    iteration,
    startedAt: at,
    duration: 0,
    steps: 0,
    stepsTaken: 0,
    cost: 0,
    costIsKnown: true,
    spent: null,
    workPlannedAt: at,
    run: null,
    earlierRuns: { cost: 0, costIsKnown: true, steps: 0 },
    checkResults: [],
    allChecksPassed: false,
    completionTagFound: false,
    claim: 'none',
    error: null,
  };
}

/** What an event adds to the last iteration; the same object where it adds nothing. */
export function inIteration(last: IterationReport, event: LoopEvent, state: LoopState): IterationReport {
  switch (event.type) {
    case 'run.planned': {
      const { run, purpose, at } = event;
      const earlierRuns = { cost: last.cost, costIsKnown: last.costIsKnown, steps: last.stepsTaken };
      return {
        ...last,
        earlierRuns,
        costIsKnown: false,
        run: { run, purpose, cost: null, steps: 0 },
        workPlannedAt: purpose === 'work' ? at : last.workPlannedAt,
      };
    }
    case 'run.output': {
      if (last.run?.run !== event.run) return last;
      // A snapshot is absolute: it replaces the one before it.
      const run = { ...last.run, cost: event.cost?.usd ?? null, steps: event.steps };
      const { cost, costIsKnown, steps } = last.earlierRuns;
      return {
        ...last,
        run,
        cost: cost + (run.cost ?? 0),
        costIsKnown: costIsKnown && isWholeCost(event.cost),
        stepsTaken: steps + run.steps,
      };
    }
    case 'run.ended':
      return afterRun(last, event, state);
    case 'checks.started':
      return { ...last, checkResults: [], allChecksPassed: false };
    case 'check.finished': {
      const { command, result } = event;
      const results = [...last.checkResults, { name: command, passed: result.code === 0, log: result.log }];
      const isComplete = results.length === state.policy.checks.commands.length;
      return {
        ...last,
        checkResults: results,
        allChecksPassed: isComplete && results.every(({ passed }) => passed),
      };
    }
    case 'claim.made':
      return { ...last, completionTagFound: event.claim.by !== 'checks' };
    case 'claim.accepted':
      return { ...last, claim: 'accepted' };
    case 'claim.rejected':
      return { ...last, claim: 'rejected' };
    case 'loop.created':
    case 'loop.ended':
    case 'loop.reopened':
    case 'policy.changed':
    case 'owner.changed':
    case 'owner.left':
    case 'question.asked':
    case 'iteration.started':
    case 'run.started':
    case 'start.recorded':
    case 'evidence.examined':
    case 'evidence.restored':
    case 'probe.finished':
    case 'changes.found':
    case 'family.counted':
    case 'commit.made':
    case 'checkpoint.taken':
    case 'limit.shared':
    case 'unchanged.noticed':
    case 'limit.neared':
    case 'timer.fired':
    case 'child.started':
    case 'child.ended':
    case 'control.received':
      return last;
  }
}

function afterRun(
  last: IterationReport,
  { run, as, ending }: Extract<LoopEvent, { type: 'run.ended' }>,
  state: LoopState,
): IterationReport {
  const open = openRun(state);
  const spent = open === null ? last.spent : addRun(last.spent ?? NOTHING_SPENT, open);
  const isWork = last.run?.run === run && last.run.purpose === 'work';
  const work = state.turn.run;
  const isWholeWork = !isCutShort(as) && work?.id === run;
  return {
    ...last,
    spent,
    error: isWork ? failureText(ending, as) : last.error,
    steps: isWholeWork ? work.output.steps : last.steps,
  };
}
