/**
 * What a person wants to know about a loop and the core does not need: folded from the journal like the state, event by
 * event, and of a size that does not grow with the iterations.
 */
import { isCommit } from '../loop/words.ts';
import type { CheckResult, LoopEvent, StrayProcess } from '../loop/event.ts';
import { addRun, NOTHING_SPENT } from '../loop/limits.ts';
import { isCutShort, openRun } from '../loop/run.ts';
import type { LoopState, Spend } from '../loop/state.ts';

export interface Account {
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** The iteration that was started last, and what is known of it. */
  readonly iteration: IterationAccount | null;
  readonly runs: number;
  /** What the last few iterations used, in their order. */
  readonly spends: readonly IterationSpend[];
  readonly rejectedClaims: number;
  /** The checks that contradicted the last rejected claim. */
  readonly lastRejection: { readonly iteration: number; readonly failed: readonly string[] } | null;
  readonly usageLimits: number;
  /** Times that the provider did not serve us. */
  readonly outages: number;
  /** The results of the checks before the first iteration, in their order. */
  readonly baseline: readonly CheckAccount[];
  /** The last results of the checks, in their order. */
  readonly checks: readonly CheckAccount[];
  /** Processes that may have got away, of the last few runs. */
  readonly strays: readonly StrayProcess[];
  readonly commits: number;
  readonly lastCommit: string | null;
  /** What went wrong with the last commit or one of its tasks; null if nothing did. */
  readonly commitError: string | null;
  readonly lastControl: 'person' | 'signal' | null;
}

interface IterationAccount {
  readonly number: number;
  readonly startedAt: number;
  /** When its last work run began. */
  readonly runAt: number;
  readonly steps: number;
  readonly exitCode: number | null;
}

export interface IterationSpend extends Spend {
  readonly iteration: number;
}

export interface CheckAccount {
  readonly command: string;
  readonly result: CheckResult;
}

export const NO_ACCOUNT: Account = {
  startedAt: null,
  endedAt: null,
  iteration: null,
  runs: 0,
  spends: [],
  rejectedClaims: 0,
  lastRejection: null,
  usageLimits: 0,
  outages: 0,
  baseline: [],
  checks: [],
  strays: [],
  commits: 0,
  lastCommit: null,
  commitError: null,
  lastControl: null,
};

/** The account with one more event in it; `state` is the state before that event. */
export function account(before: Account, event: LoopEvent, state: LoopState): Account {
  switch (event.type) {
    case 'loop.created':
      return { ...before, startedAt: event.at };
    case 'loop.ended':
      return { ...before, endedAt: event.at };
    case 'loop.reopened':
      return { ...before, endedAt: null };
    case 'iteration.started': {
      const iteration: IterationAccount = {
        number: event.iteration,
        startedAt: event.at,
        runAt: event.at,
        steps: 0,
        exitCode: null,
      };
      return { ...before, iteration };
    }
    case 'run.planned':
      return {
        ...before,
        runs: before.runs + 1,
        iteration:
          before.iteration === null || event.purpose !== 'work'
            ? before.iteration
            : { ...before.iteration, runAt: event.at },
      };
    case 'run.ended': {
      const strays = [...before.strays, ...(event.strays ?? [])].slice(-MOST_STRAYS);
      const ended = { ...before, strays, spends: spendsAfter(before, state) };
      if (event.as === 'usage-limit') return { ...ended, usageLimits: before.usageLimits + 1 };
      if (event.as === 'outage') return { ...ended, outages: before.outages + 1 };
      const { run } = state.turn;
      if (isCutShort(event.as) || before.iteration === null || run?.id !== event.run) return ended;
      const exitCode = event.ending.how === 'exited' ? event.ending.code : null;
      return {
        ...ended,
        iteration: { ...before.iteration, steps: run.output.steps, exitCode },
      };
    }
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
        rejectedClaims: before.rejectedClaims + 1,
        lastRejection: { iteration: event.iteration, failed: event.failed },
      };
    case 'commit.made': {
      // A task that failed may be carried out later, for the same commit.
      const isNews = event.commit === null || event.commit !== before.lastCommit;
      return {
        ...before,
        commits: before.commits + (isNews && event.done.some(isCommit) ? 1 : 0),
        lastCommit: event.commit ?? before.lastCommit,
        // Nothing to commit makes nothing good.
        commitError: event.error ?? (event.done.length > 0 ? null : before.commitError),
      };
    }
    case 'control.received':
      return { ...before, lastControl: event.control.type === 'signal' ? 'signal' : 'person' };
    case 'policy.changed':
    case 'owner.changed':
    case 'run.started':
    case 'run.output':
    case 'probe.finished':
    case 'claim.made':
    case 'claim.accepted':
    case 'changes.found':
    case 'checkpoint.taken':
    case 'limit.shared':
    case 'timer.fired':
    case 'child.started':
    case 'child.ended':
      return before;
  }
}

/** With the open run, which belongs to the iteration of the turn; a retry of it adds to the same. */
export function spendsAfter({ spends }: Account, state: LoopState): readonly IterationSpend[] {
  const run = openRun(state);
  if (run === null) return spends;
  const { iteration } = state.turn;
  const last = spends.at(-1);
  const isSame = last?.iteration === iteration;
  const spent = { ...addRun(isSame ? last : NOTHING_SPENT, run), iteration };
  return [...(isSame ? spends.slice(0, -1) : spends), spent].slice(-MOST_SPENDS);
}

const MOST_STRAYS = 20;
const MOST_SPENDS = 20;
