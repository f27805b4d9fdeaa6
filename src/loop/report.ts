/** The honest account of a loop, folded from its journal: what every iteration did, said, passed and cost. */
import { stopReason, type Outcome, type StopReason } from './outcome.ts';
import type { Happening, LoopEvent, Purpose } from './event.ts';
import { failureText } from './failure.ts';

/** The account of a whole journal. */
export function report(events: Iterable<LoopEvent>): LoopReport {
  let account = EMPTY;
  for (const event of events) account = accountFor(account, event);
  return account;
}

export interface LoopReport {
  readonly iterations: readonly IterationReport[];
  /** Sum over all runs, as far as known. */
  readonly totalCost: number;
  /** Whether every run has said what it cost. */
  readonly costIsKnown: boolean;
  /** From the first event to the last, in milliseconds. */
  readonly totalDuration: number;
  readonly success: boolean;
  readonly stopReason: StopReason | null;
  readonly outcome: Outcome | null;
  /** Commands of the checks, as they are named in every iteration. */
  readonly checks: readonly string[];
  readonly startedAt: number | null;
}

export interface IterationReport {
  /** From 1. */
  readonly iteration: number;
  readonly stepsTaken: number;
  readonly cost: number;
  readonly costIsKnown: boolean;
  readonly duration: number;
  readonly startedAt: number;
  readonly runs: readonly RunReport[];
  readonly checkResults: readonly { readonly name: string; readonly passed: boolean; readonly log: string }[];
  readonly allChecksPassed: boolean;
  readonly completionTagFound: boolean;
  readonly claim: 'none' | 'accepted' | 'rejected';
  readonly error: string | null;
}

export interface RunReport {
  readonly run: string;
  readonly purpose: Purpose;
  /** Null where nobody said. */
  readonly cost: number | null;
  readonly steps: number;
}

/** The account with one more event in it. */
export function accountFor(account: LoopReport, event: LoopEvent): LoopReport {
  const timed = {
    ...account,
    startedAt: account.startedAt ?? event.at,
    totalDuration: event.at - (account.startedAt ?? event.at),
  };
  switch (event.type) {
    case 'loop.created':
    case 'policy.changed':
      return { ...timed, checks: event.policy.checks.commands.map(({ command }) => command) };
    case 'iteration.started':
      return {
        ...timed,
        iterations: [...account.iterations, { ...BLANK, iteration: event.iteration, startedAt: event.at }],
      };
    case 'loop.ended':
      return {
        ...timed,
        outcome: event.outcome,
        success: event.outcome.type === 'done',
        stopReason: stopReason(event.outcome),
      };
    case 'loop.reopened':
      return { ...timed, outcome: null, success: false, stopReason: null };
    case 'run.planned':
    case 'run.output':
    case 'run.ended':
    case 'checks.started':
    case 'check.finished':
    case 'claim.made':
    case 'claim.accepted':
    case 'claim.rejected': {
      const last = account.iterations.at(-1);
      // What is found and checked before an iteration begins belongs to none.
      if (last === undefined || ('iteration' in event && event.iteration !== last.iteration)) return timed;
      const updated = { ...inIteration(last, event, account.checks), duration: event.at - last.startedAt };
      const iterations = [...account.iterations.slice(0, -1), updated];
      const totalCost = iterations.reduce((sum, { cost }) => sum + cost, 0);
      return { ...timed, iterations, totalCost, costIsKnown: iterations.every((one) => one.costIsKnown) };
    }
    case 'owner.changed':
    case 'run.started':
    case 'probe.finished':
    case 'changes.found':
    case 'commit.made':
    case 'checkpoint.taken':
    case 'limit.shared':
    case 'timer.fired':
    case 'child.started':
    case 'child.ended':
    case 'control.received':
      return timed;
  }
}

/** What nobody has said is not nothing. */
export function costText(usd: number, isKnown: boolean): string {
  if (!isKnown && usd === 0) return 'unknown';
  return `${isKnown ? '' : 'over '}$${usd.toFixed(4)}`;
}

type InIteration = Extract<
  Happening,
  {
    type:
      | 'run.planned'
      | 'run.output'
      | 'run.ended'
      | 'checks.started'
      | 'check.finished'
      | 'claim.made'
      | 'claim.accepted'
      | 'claim.rejected';
  }
>;

function inIteration(entry: IterationReport, event: InIteration, checks: readonly string[]): IterationReport {
  switch (event.type) {
    case 'run.planned':
      return {
        ...entry,
        costIsKnown: false,
        runs: [...entry.runs, { run: event.run, purpose: event.purpose, cost: null, steps: 0 }],
      };
    case 'run.output': {
      // A snapshot is absolute: it takes the place of the one before it.
      const runs = entry.runs.map((run) =>
        run.run === event.run ? { ...run, cost: event.cost?.usd ?? null, steps: event.steps } : run,
      );
      const sum = (of: 'cost' | 'steps'): number => runs.reduce((total, run) => total + (run[of] ?? 0), 0);
      const costIsKnown = runs.every(({ cost }) => cost !== null);
      return { ...entry, runs, cost: sum('cost'), costIsKnown, stepsTaken: sum('steps') };
    }
    case 'run.ended': {
      const isWork = entry.runs.some(({ run, purpose }) => run === event.run && purpose === 'work');
      return isWork ? { ...entry, error: failureText(event.ending, event.as) } : entry;
    }
    case 'checks.started':
      return { ...entry, checkResults: [], allChecksPassed: false };
    case 'check.finished': {
      const { index, result } = event;
      const checkResults = [
        ...entry.checkResults,
        { name: checks[index] ?? '', passed: result.code === 0, log: result.log },
      ];
      const allChecksPassed =
        checkResults.length === checks.length && checkResults.every(({ passed }) => passed);
      return { ...entry, checkResults, allChecksPassed };
    }
    case 'claim.made':
      return { ...entry, completionTagFound: event.claim.by !== 'checks' };
    case 'claim.accepted':
      return { ...entry, claim: 'accepted' };
    case 'claim.rejected':
      return { ...entry, claim: 'rejected' };
  }
}

const BLANK: IterationReport = {
  iteration: 0,
  stepsTaken: 0,
  cost: 0,
  costIsKnown: true,
  duration: 0,
  startedAt: 0,
  runs: [],
  checkResults: [],
  allChecksPassed: false,
  completionTagFound: false,
  claim: 'none',
  error: null,
};

const EMPTY: LoopReport = {
  iterations: [],
  totalCost: 0,
  costIsKnown: true,
  totalDuration: 0,
  success: false,
  stopReason: null,
  outcome: null,
  checks: [],
  startedAt: null,
};
