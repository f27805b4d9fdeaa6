import { counted, withMore } from './counted.ts';
import type { Policy } from './policy.ts';

/** Why a loop ended. A new way to end is a new member here and a new row in every exit code table. */
export type Outcome =
  /** A claim was accepted; `verified` is false if no check confirmed it. */
  | { readonly type: 'done'; readonly verified: boolean; readonly childrenLeft: readonly string[] }
  /** The agent asked for a person, by its exit code, a marker file or a bus message. */
  | { readonly type: 'waiting' }
  /** The last permitted iteration ended without an accepted claim. */
  | { readonly type: 'iterations-exhausted'; readonly limit: number }
  /**
   * The loop's working time reached its limit, or a usage limit resets only after that; `resetsAt` is null if the provider
   * does not say when, and the next retry would come too late.
   */
  | ({
      readonly type: 'time-exhausted';
      readonly limitMs: number;
      readonly resetsAt?: number | null;
    } & OfFamily)
  /**
   * The cost limit is reached; `assumedRuns` of the runs in the sum have an unknown cost and are charged as the dearest
   * known run. The sum is null if the limit cannot be enforced, because no cost is known.
   */
  | ({
      readonly type: 'cost-exhausted';
      readonly limitUsd: number;
      readonly spentUsd: number | null;
      readonly assumedRuns?: number;
    } & OfFamily)
  /** The token limit is reached, in the same sense. */
  | ({
      readonly type: 'tokens-exhausted';
      readonly limit: number;
      readonly spent: number | null;
      readonly assumedRuns?: number;
    } & OfFamily)
  /**
   * Too many consecutive runs failed, or the provider was unavailable for too long (`outages`), or never answered so many
   * runs (`unanswered` too).
   */
  | {
      readonly type: 'failures-exhausted';
      readonly failures: number;
      readonly outages?: true;
      readonly unanswered?: true;
    }
  /** A usage limit was reached after as many waits as are allowed; `resetsAt` is null if the provider does not say when. */
  | { readonly type: 'limit-waits-exhausted'; readonly waits: number; readonly resetsAt: number | null }
  /**
   * Too many consecutive iterations made no progress, or were the same answer of the agent and nothing else, or every open item
   * of the plan was the next one in so many iterations (`blocked` has the first of them).
   */
  | {
      readonly type: 'stuck';
      readonly unchanged: number;
      readonly sameAnswer?: true;
      readonly blocked?: readonly string[];
      readonly moreBlocked?: number;
    }
  /** The prompt file was removed, or can no longer be read. */
  | { readonly type: 'prompt-lost'; readonly message: string }
  /** The agent cannot be started as requested: no such command, not executable, bad configuration. */
  | { readonly type: 'bad-input'; readonly message: string }
  /** A retry cannot help: authentication refused, the same prompt refused twice, agent uninstalled, disk full. */
  | { readonly type: 'fatal'; readonly message: string }
  /** A person, a signal or a deadline stopped the loop. */
  | { readonly type: 'stopped'; readonly by: StopCause; readonly signal?: Signal };

/** The loop above whose limit it is; absent for the loop's own limit. */
export interface OfFamily {
  readonly family?: { readonly id: string; readonly name: string };
}

/** How an ended loop continues. */
export interface Reopening {
  /** A person resumed it, perhaps with another policy. */
  readonly policy: Policy | null;
  /** The journal said that it is done, and no owner has confirmed that: the claim is judged again. Absent if a person resumed it. */
  readonly because?: 'unconfirmed-end';
}

/** The signals that a loop acts on. */
export type Signal = 'SIGINT' | 'SIGTERM';

/** Who stopped a loop: a signal to its process, a person with a command, or a caller's deadline. */
export type StopCause = 'signal' | 'person' | 'deadline';

/** What an exit code stands for: an outcome, `terminated` for a stop by SIGTERM, or `paused`, which is not an end. */
export type Rest = Outcome['type'] | 'terminated' | 'paused';

/** The exit code for each outcome. */
export type ExitCodes = Readonly<Record<Rest, number>>;

/** 0 means done and nothing else: scripts continue with `&&`. */
export const EXIT_CODES: ExitCodes = {
  done: 0,
  'iterations-exhausted': 1,
  'time-exhausted': 1,
  'cost-exhausted': 1,
  'tokens-exhausted': 1,
  'failures-exhausted': 1,
  'limit-waits-exhausted': 1,
  stuck: 1,
  'prompt-lost': 2,
  'bad-input': 2,
  fatal: 3,
  waiting: 4,
  paused: 4,
  stopped: 130,
  terminated: 143,
};

/** Under which name an outcome has its exit code. */
export function restOf(outcome: Outcome): Rest {
  return outcome.type === 'stopped' && outcome.signal === 'SIGTERM' ? 'terminated' : outcome.type;
}

/** The stop reason in the result object of document 002; null where the document has none. */
export function stopReason(outcome: Outcome): StopReason | null {
  switch (outcome.type) {
    case 'done':
      return outcome.verified ? 'all_checks_passed' : null;
    case 'iterations-exhausted':
      return 'max_iterations';
    case 'cost-exhausted':
    case 'tokens-exhausted':
      return 'budget_exhausted';
    case 'time-exhausted':
      return 'timeout';
    case 'waiting':
    case 'failures-exhausted':
    case 'limit-waits-exhausted':
    case 'stuck':
    case 'prompt-lost':
    case 'bad-input':
    case 'fatal':
    case 'stopped':
      return null;
  }
}

export type StopReason = 'all_checks_passed' | 'max_iterations' | 'budget_exhausted' | 'timeout';

/** The status that document 003 writes into `state.json` for an ended loop. */
export function endedStatus(outcome: Outcome): 'stopped' | 'failed' {
  switch (outcome.type) {
    case 'done':
    case 'waiting':
    case 'iterations-exhausted':
    case 'time-exhausted':
    case 'cost-exhausted':
    case 'tokens-exhausted':
    case 'limit-waits-exhausted':
    case 'stopped':
      return 'stopped';
    case 'failures-exhausted':
    case 'stuck':
    case 'prompt-lost':
    case 'bad-input':
    case 'fatal':
      return 'failed';
  }
}

/** One sentence for people: why the loop ended, in the wording of its policy; `time` writes a moment as a time of day. */
export function explain(
  outcome: Outcome,
  { wording, completion: { until } }: Pick<Policy, 'wording' | 'completion'>,
  time: (moment: number) => string = timeInUtc,
): string {
  switch (outcome.type) {
    case 'done':
      if (!outcome.verified) return "done, unverified: no check verified the agent's claim";
      // If passed checks alone are enough, there may be no claim.
      return until === 'checks'
        ? 'done: every check passed after the last run'
        : 'done: claim accepted, and every check passed after the last run';
    case 'waiting':
      return 'the agent asked to wait for a person';
    case 'iterations-exhausted':
      if (wording.iterationLimitReason !== null) return wording.iterationLimitReason;
      return until === 'checks'
        ? `iteration limit reached: ${outcome.limit}, and not every check passed`
        : `iteration limit reached: ${outcome.limit} without an accepted claim`;
    case 'time-exhausted':
      return timeReason(outcome, time);
    case 'cost-exhausted':
      return costReason(outcome);
    case 'tokens-exhausted':
      return tokensReason(outcome);
    case 'failures-exhausted':
      if (outcome.unanswered === true)
        return `the provider did not answer ${counted(outcome.failures, 'run')} in a row, each up to the inactivity timeout; check that the provider is up and reachable, or raise --inactivity-timeout if its model thinks for longer`;
      return outcome.outages === true
        ? `the provider was unavailable ${counted(outcome.failures, 'time')} in a row`
        : counted(outcome.failures, 'consecutive failure');
    case 'limit-waits-exhausted': {
      const { waits, resetsAt } = outcome;
      const which = resetsAt === null ? '' : `, which resets at ${time(resetsAt)}`;
      const often = waits === 0 ? 'waits for none' : `has waited ${counted(waits, 'time')} for one`;
      return `usage limit reached${which}; the loop ${often} (--max-limit-waits)`;
    }
    case 'stuck':
      if (outcome.blocked !== undefined)
        return `stuck: every open item of the plan is blocked after ${counted(outcome.unchanged, 'iteration')}: ${withMore(outcome.blocked, outcome.moreBlocked ?? 0)}`;
      return outcome.sameAnswer === true
        ? `stuck: the same answer ${counted(outcome.unchanged, 'time')} in a row, without a tool call or a changed file`
        : `stuck: ${counted(outcome.unchanged, 'consecutive iteration')} without progress`;
    case 'prompt-lost':
    case 'bad-input':
    case 'fatal':
      return outcome.message;
    case 'stopped':
      if (outcome.by === 'deadline') return 'deadline exceeded';
      return outcome.signal === undefined ? `cancelled by a ${outcome.by}` : `cancelled by ${outcome.signal}`;
  }
}

/** `03:00 UTC`: the core does not know the local time zone. */
function timeInUtc(moment: number): string {
  const minutes = Math.floor(moment / 60_000) % (24 * 60);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0'));
  return `${hours}:${rest} UTC`;
}

function timeReason(
  { limitMs, resetsAt, family }: OutcomeOf<'time-exhausted'>,
  time: (moment: number) => string,
): string {
  const limit = `${limitMs / 1000} s`;
  const whose = of({ family });
  if (resetsAt === undefined) return `time limit${whose} reached: ${limit}`;
  return resetsAt === null
    ? `usage limit reached without a known reset, and the time limit${whose} of ${limit} ends before the next retry`
    : `the usage limit resets at ${time(resetsAt)}, after the time limit${whose} of ${limit}`;
}

/** Names the loop above whose limit it is. */
function of({ family }: { readonly family: OfFamily['family'] | undefined }): string {
  return family === undefined ? '' : ` of the family of "${family.name}"`;
}

function costReason({ limitUsd, spentUsd, assumedRuns = 0, family }: OutcomeOf<'cost-exhausted'>): string {
  const whose = of({ family });
  const limit = `$${limitUsd.toFixed(4)}`;
  return spentUsd === null
    ? `cannot enforce the cost limit${whose} of ${limit}: ${counted(assumedRuns, 'run')} did not report their cost, and the cost of no other run is known`
    : `cost limit${whose} reached: $${spentUsd.toFixed(4)} of ${limit}${assumption(assumedRuns, 'cost')}`;
}

function tokensReason({ limit, spent, assumedRuns = 0, family }: OutcomeOf<'tokens-exhausted'>): string {
  const whose = of({ family });
  return spent === null
    ? `cannot enforce the token limit${whose} of ${limit}: ${counted(assumedRuns, 'run')} did not report their tokens, and those of no other run are known`
    : `token limit${whose} reached: ${spent} of ${limit}${assumption(assumedRuns, 'usage')}`;
}

function assumption(runs: number, what: 'cost' | 'usage'): string {
  if (runs === 0) return '';
  return `, with ${counted(runs, 'run')} of unknown ${what} charged like the most expensive known run`;
}

type OutcomeOf<Type extends Outcome['type']> = Extract<Outcome, { type: Type }>;
