import type { Claim, Phase } from './completion.ts';
import type { Outcome, StopCause } from './outcome.ts';
import type { LimitsPolicy, Policy } from './policy.ts';

/**
 * What has happened, in the past tense: the journal is a list of these and nothing else is true.
 * `at` is the driver's stamp, `max(the last event's time, the clock)`, in milliseconds since the epoch.
 */
export type LoopEvent = Happening & { readonly at: number };

/** An event before it is stamped. */
export type Happening =
  /** A loop came into being, with the policy it starts under. */
  | { readonly type: 'loop.created'; readonly name: string; readonly policy: Policy }
  /** The policy is another one from here on. */
  | { readonly type: 'policy.changed'; readonly policy: Policy }
  /** Another process drives the loop now; nobody did since the event before this one. */
  | { readonly type: 'owner.changed'; readonly owner: string }
  /** An iteration is charged. */
  | { readonly type: 'iteration.started'; readonly iteration: number }
  /** A run is about to start; from here on it can be found again. `guidance` names what its prompt tells. */
  | {
      readonly type: 'run.planned';
      readonly run: string;
      readonly purpose: Purpose;
      readonly guidance: readonly string[];
      readonly prompt: { readonly path: string; readonly hash: string } | null;
    }
  /** The agent's process is there (or was found again after a crash). */
  | { readonly type: 'run.started'; readonly run: string; readonly receipt: Receipt }
  /** All that is known from the run's output up to `offset`: absolute, the last one wins. */
  | ({ readonly type: 'run.output'; readonly run: string } & OutputSnapshot)
  /**
   * The run is over. `as` is what that was taken to mean (see `classify`), so that a later version cannot judge
   * it differently; `jitter` in [0, 1) spreads the waits of loops that met the same limit.
   */
  | {
      readonly type: 'run.ended';
      readonly run: string;
      readonly ending: RunEnding;
      readonly as: RunClass;
      readonly jitter: number;
      /** Processes that may have got away from it; they were not ended. */
      readonly strays?: readonly StrayProcess[];
    }
  /** The checks of a run begin. */
  | { readonly type: 'checks.started'; readonly iteration: number; readonly run: string | null }
  /** One check has an exit code; in iteration 0 it was run before the first one. */
  | {
      readonly type: 'check.finished';
      readonly iteration: number;
      readonly run: string | null;
      readonly index: number;
      readonly command: string;
      readonly result: CheckResult;
    }
  /** What was found lying about before or after a run. */
  | ({ readonly type: 'probe.finished'; readonly key: string; readonly phase: Phase } & Probe)
  /** A detector opened a claim. */
  | {
      readonly type: 'claim.made';
      readonly iteration: number;
      readonly run: string | null;
      readonly claim: Claim;
    }
  /** The evidence agrees with the claim. */
  | {
      readonly type: 'claim.accepted';
      readonly iteration: number;
      readonly run: string | null;
      readonly verified: boolean;
    }
  /** The evidence disagrees: these checks failed. */
  | {
      readonly type: 'claim.rejected';
      readonly iteration: number;
      readonly run: string | null;
      readonly failed: readonly string[];
    }
  /** Whether there is anything to commit, and what keeps it from being committed (`error`). */
  | ({ readonly type: 'changes.found'; readonly iteration: number } & Changes)
  /**
   * The iteration's work was handed to the version control, or could not be (`error`): the tasks that were carried out,
   * and the commit that came of them where it has a name.
   */
  | {
      readonly type: 'commit.made';
      readonly iteration: number;
      readonly commit: string | null;
      readonly done: readonly string[];
      readonly error: string | null;
      /** The first line of its message, and how many files it has changed; absent where nobody could tell. */
      readonly subject?: string;
      readonly files?: number;
    }
  /** The tree after an iteration is on record, or could not be put there, or not all of it (`error`). */
  | {
      readonly type: 'checkpoint.taken';
      readonly iteration: number;
      readonly ref: string | null;
      readonly error: string | null;
    }
  /** Another loop of the same account has met a usage limit; `jitter` as above. */
  | {
      readonly type: 'limit.shared';
      readonly resetsAt: number;
      readonly message: string;
      readonly jitter: number;
    }
  /** The time of a wait has come. */
  | { readonly type: 'timer.fired'; readonly key: string }
  /** A loop was started from inside one of this loop's runs. */
  | { readonly type: 'child.started'; readonly child: string }
  /** Such a loop is over. */
  | { readonly type: 'child.ended'; readonly child: string }
  /** Somebody wants something; `id` makes a repeat recognisable. */
  | { readonly type: 'control.received'; readonly id: string; readonly control: Control }
  /** The loop is over; after this only `loop.reopened` is accepted. */
  | { readonly type: 'loop.ended'; readonly outcome: Outcome }
  /** A person wants an ended loop to go on, perhaps under another policy. */
  | { readonly type: 'loop.reopened'; readonly policy: Policy | null };

/** What a run is for: the iteration's work, or a commit message for it. */
/** What there is for the version control. */
export interface Changes {
  readonly any: boolean;
  /** Nothing is left to commit, but there are commits that the other tasks were not carried out for. */
  readonly committed?: boolean;
  readonly error: string | null;
}

export type Purpose = 'work' | 'commit-message';

/** How to find the process again; all of it must match. */
export interface Receipt {
  readonly pid: number;
  readonly startTime: string;
  readonly bootId: string;
  readonly pidNamespace: string;
}

export interface StrayProcess {
  readonly pid: number;
  readonly command: string;
}

export interface OutputSnapshot {
  readonly offset: number;
  /** How much of its standard error is known; absent while that is nothing. */
  readonly complained?: number;
  /** The agent's own name for its conversation. */
  readonly session?: string;
  /** Lines that meant nothing to us; absent while there are none. */
  readonly unknown?: number;
  readonly tokens: Tokens | null;
  readonly cost: Cost | null;
  /** Steps (tool calls) that the agent took. */
  readonly steps: number;
  /** The stream's own verdict once it has said that it is finished; null until then, and without a parser. */
  readonly said: 'success' | 'error' | null;
  readonly claim: Claim | null;
  /** The claim came from a `continuous` detector: the run may end now. */
  readonly claimEndsRun: boolean;
  readonly limit: UsageLimit | null;
}

export interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** Money, and whether the provider said so or a price table did. */
export interface Cost {
  readonly usd: number;
  readonly source: 'reported' | 'estimated';
}

/** The provider will not serve us before `resetsAt`; null when it does not say. */
export interface UsageLimit {
  readonly resetsAt: number | null;
  readonly message: string;
}

/** What an ended run means for the loop. */
export type RunClass =
  /** The agent did its turn. */
  | 'ok'
  /** It did not; counts, and is tried again after a while. */
  | 'failure'
  /** The provider's limit; counts as nothing, and is tried again when the limit resets. */
  | 'usage-limit'
  /** The provider did not serve us (overload, server error, no connection): as little counts, and it is tried again. */
  | 'outage'
  /** It asks for a person. */
  | 'wait'
  /** Trying again cannot help. */
  | 'fatal'
  /** Silent for too long where that is no failure: started afresh. */
  | 'restart'
  /** We ended it ourselves. */
  | 'interrupted';

export type RunEnding =
  /** The process ended; `code` is null when nobody saw its status. */
  | { readonly how: 'exited'; readonly code: number | null; readonly error: RunError | null }
  /** It took too long, was silent for too long, printed too much, or the loop's own time was over. */
  | { readonly how: 'timed-out'; readonly which: 'wall' | 'inactivity' | 'output' | 'total' }
  /** The driver ended it, because it was no longer wanted. */
  | { readonly how: 'interrupted' }
  /** It never came to life. */
  | { readonly how: 'not-started'; readonly error: RunError };

/** What went wrong, as far as the agent, its stream or the operating system told us. */
export interface RunError {
  readonly kind: ErrorKind;
  readonly message: string;
}

export type ErrorKind =
  /** No such program. */
  | 'command-not-found'
  /** The file is there and may not be executed. */
  | 'not-executable'
  /** The agent cannot run as it is set up. */
  | 'invalid-configuration'
  /** The prompt file is gone. */
  | 'prompt-missing'
  /** The prompt file is there and may not be read. */
  | 'prompt-unreadable'
  /** The provider refuses who we are. */
  | 'authentication'
  /** The provider knows no such model. */
  | 'unknown-model'
  /** The agent may not do what it needs to do. */
  | 'permission-denied'
  /** Nothing can be written any more. */
  | 'disk-full'
  /** Network, overload, rate limit, crash: may be over next time. */
  | 'transient'
  /** Anything else. */
  | 'other';

export interface CheckResult {
  /** Null when it was killed at its time limit. */
  readonly code: number | null;
  readonly timedOut: boolean;
  readonly durationMs: number;
  /** Where the whole output is. */
  readonly log: string;
}

export interface Probe {
  /** The marker files that were found, by name. */
  readonly markers: readonly string[];
  /** A marker that is there and cannot be one: a directory, or it cannot be looked at. */
  readonly problem: string | null;
  /** Types of the bus messages that came since the probe before this one. */
  readonly messages: readonly string[];
  /** Head, tree and task list in one string; null where it was not asked for. */
  readonly fingerprint: string | null;
}

export type Control =
  /** Start nothing after the running iteration. */
  | { readonly type: 'pause' }
  /** Go on; with `now` also out of a usage-limit wait. */
  | { readonly type: 'resume'; readonly now: boolean }
  /** End after the running step; with `now` in the middle of it. */
  | { readonly type: 'stop'; readonly now: boolean; readonly by: StopCause }
  /** The loop's own process got a signal; the policy says what that means. */
  | { readonly type: 'signal'; readonly signal: 'SIGINT' | 'SIGTERM' }
  /** Words for the agent's next prompt. */
  | { readonly type: 'tell'; readonly text: string }
  /** The driver itself cannot go on: no space left, a tool is gone; or what the user asked for cannot be had. */
  | { readonly type: 'abort'; readonly message: string; readonly as?: 'bad-input' }
  /** Other limits from here on. */
  | { readonly type: 'set'; readonly limits: Partial<LimitsPolicy> };
