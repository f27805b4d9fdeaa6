import { counted } from './counted.ts';
import type { Policy } from './policy.ts';

/** Why a loop ended. A new way to end is a new member here and a new row in every exit code table. */
export type Outcome =
  /** A claim was accepted; `verified` is false if no check confirmed it. */
  | { readonly type: 'done'; readonly verified: boolean; readonly childrenLeft: readonly string[] }
  /** The agent asked for a person, by its exit code, a marker file or a bus message. */
  | { readonly type: 'waiting' }
  /** The last permitted iteration ended without an accepted claim. */
  | { readonly type: 'iterations-exhausted'; readonly limit: number }
  /** The loop's working time reached its limit. */
  | { readonly type: 'time-exhausted'; readonly limitMs: number }
  /** The cost limit is reached. */
  | { readonly type: 'cost-exhausted'; readonly limitUsd: number; readonly spentUsd: number }
  /** The token limit is reached. */
  | { readonly type: 'tokens-exhausted'; readonly limit: number; readonly spent: number }
  /** Too many consecutive runs failed, or the provider was unavailable for too long. */
  | { readonly type: 'failures-exhausted'; readonly failures: number }
  /** Too many consecutive iterations changed nothing. */
  | { readonly type: 'stuck'; readonly unchanged: number }
  /** The prompt file was removed, or can no longer be read. */
  | { readonly type: 'prompt-lost'; readonly message: string }
  /** The agent cannot be started as requested: no such command, not executable, bad configuration. */
  | { readonly type: 'bad-input'; readonly message: string }
  /** A retry cannot help: authentication refused, agent uninstalled, disk full. */
  | { readonly type: 'fatal'; readonly message: string }
  /** A person, a signal or a deadline stopped the loop. */
  | { readonly type: 'stopped'; readonly by: StopCause };

/** Who stopped a loop: a signal to its process, a person with a command, or a caller's deadline. */
export type StopCause = 'signal' | 'person' | 'deadline';

/** What an exit code stands for: an outcome, or `paused`, in which the loop rests and has not ended. */
export type Rest = Outcome['type'] | 'paused';

/** The exit code for each outcome. */
export type ExitCodes = Readonly<Record<Rest, number>>;

export const EXIT_CODES: ExitCodes = {
  done: 0,
  waiting: 0,
  paused: 0,
  'iterations-exhausted': 1,
  'time-exhausted': 1,
  'cost-exhausted': 1,
  'tokens-exhausted': 1,
  'failures-exhausted': 1,
  stuck: 1,
  'prompt-lost': 2,
  'bad-input': 2,
  fatal: 3,
  stopped: 130,
};

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

/** One sentence for people: why the loop ended, with its numbers, in the wording of its policy. */
export function explain(
  outcome: Outcome,
  { wording, completion: { until } }: Pick<Policy, 'wording' | 'completion'>,
): string {
  switch (outcome.type) {
    case 'done':
      if (!outcome.verified) return 'done, unverified: the agent claimed to be done and no check verified it';
      // If passed checks alone are enough, there may be no claim.
      return until === 'checks'
        ? 'done: every check passed after the last run'
        : 'done: the claim was accepted and every check passed after the last run';
    case 'waiting':
      return 'the agent asked to wait for a person';
    case 'iterations-exhausted':
      if (wording.iterationLimitReason !== null) return wording.iterationLimitReason;
      return until === 'checks'
        ? `iteration limit reached: ${outcome.limit}, and not every check passed`
        : `iteration limit reached: ${outcome.limit} without an accepted claim`;
    case 'time-exhausted':
      return `time limit reached: ${outcome.limitMs / 1000} s`;
    case 'cost-exhausted':
      return `cost limit reached: $${outcome.spentUsd.toFixed(4)} of $${outcome.limitUsd.toFixed(4)}`;
    case 'tokens-exhausted':
      return `token limit reached: ${outcome.spent} of ${outcome.limit}`;
    case 'failures-exhausted':
      return counted(outcome.failures, 'consecutive failure');
    case 'stuck':
      return `stuck: ${counted(outcome.unchanged, 'consecutive iteration')} changed nothing`;
    case 'prompt-lost':
    case 'bad-input':
    case 'fatal':
      return outcome.message;
    case 'stopped':
      return outcome.by === 'deadline' ? 'deadline exceeded' : `cancelled by a ${outcome.by}`;
  }
}
