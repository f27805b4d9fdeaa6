import type { Claim } from './completion.ts';
import type {
  Changes,
  CheckResult,
  Cost,
  OutputSnapshot,
  Probe,
  Purpose,
  Receipt,
  RunClass,
  RunEnding,
  Tokens,
} from './event.ts';
import type { Outcome, StopCause } from './outcome.ts';
import type { FailAction, Policy } from './policy.ts';

/**
 * What the journal folds to. Plain data that does not grow with the iterations, only with what people told it and
 * no run has taken up; `evolve` is its only writer.
 */
export interface LoopState {
  readonly created: boolean;
  readonly name: string;
  readonly policy: Policy;
  /** The last event's time. */
  readonly now: number;
  /** Time at work: without the time that the loop rested, was ended or had no owner. */
  readonly activeMs: number;
  readonly outcome: Outcome | null;
  /** Iterations charged so far. */
  readonly iteration: number;
  readonly turn: Turn;
  /** What the checks said before the first iteration, in their order, as far as they were run. */
  readonly baseline: readonly CheckResult[];
  readonly failures: { readonly consecutive: number; readonly total: number };
  /** Usage limits in a row: the rung of the ladder. */
  readonly rung: number;
  /** Outages in a row. */
  readonly outages: number;
  /** Closed runs only; see `spentSoFar`. */
  readonly spent: Spend;
  /** The conversation of the last run that named one, and what it has cost this loop. */
  readonly session: SessionSpend | null;
  readonly progress: Progress;
  readonly feedback: Feedback;
  readonly control: ControlState;
  readonly children: readonly string[];
  /** Whether an agent process was ever seen alive. */
  readonly everStarted: boolean;
}

/** One iteration, from the look around before it to the wait after it. */
export interface Turn {
  /** The number that the iteration has, or will have once it is started. */
  readonly iteration: number;
  readonly started: boolean;
  /** Runs planned in it, of both purposes. */
  readonly runs: number;
  readonly before: Probe | null;
  /** A limit that another loop of the account has met, and until when it is heeded. */
  readonly sharedLimit: { readonly until: number; readonly message: string } | null;
  /** A person does not want to wait for it. */
  readonly ignoresSharedLimit: boolean;
  /** The run that does the work; null before it is planned. */
  readonly run: Run | null;
  readonly after: Probe | null;
  readonly checksStarted: boolean;
  /** By index; null until it has finished. */
  readonly checks: readonly (CheckResult | null)[];
  readonly claim: JudgedClaim | null;
  /** Whether there is anything to commit; null until somebody has looked. */
  readonly changes: Changes | null;
  /** The run that writes the commit message. */
  readonly messageRun: Run | null;
  readonly committed: boolean;
  readonly checkpointed: boolean;
  readonly childrenTimedOut: boolean;
  /** The time of the turn's own last event: what a wait is counted from. */
  readonly at: number;
}

export interface JudgedClaim extends Claim {
  readonly verdict: 'open' | 'accepted' | 'rejected';
  /** Accepted, and there were checks that could have contradicted it. */
  readonly verified: boolean;
}

export interface Run {
  readonly id: string;
  readonly purpose: Purpose;
  readonly plannedAt: number;
  /** How to find its process again; null before it was seen. */
  readonly receipt: Receipt | null;
  readonly guidance: readonly string[];
  readonly output: OutputSnapshot;
  readonly ended: { readonly ending: RunEnding; readonly as: RunClass; readonly jitter: number } | null;
}

export interface Spend {
  readonly tokens: Tokens;
  readonly usd: number;
  /** The weakest source of all that was added up; null while nothing was. */
  readonly source: Cost['source'] | null;
  /** Runs that did not say what they cost. */
  readonly unknownRuns: number;
}

/** Some agents count from the beginning of a conversation, which a run may take up again. */
export interface SessionSpend {
  readonly id: string;
  readonly tokens: Tokens;
  readonly usd: number;
}

export interface Progress {
  readonly fingerprint: string | null;
  readonly checks: string | null;
  /** Iterations in a row that left all of it as it was. */
  readonly unchanged: number;
}

/** What the next prompt says about the last iteration. */
export interface Feedback {
  readonly failed: readonly FailedCheck[];
  readonly error: string | null;
}

export interface FailedCheck {
  readonly index: number;
  readonly command: string;
  readonly action: FailAction;
  readonly hint: string | null;
  readonly result: CheckResult;
}

export interface ControlState {
  readonly paused: boolean;
  readonly stop: StopRequest | null;
  readonly guidance: readonly { readonly id: string; readonly text: string }[];
  /** Ids of the last controls, so that a repeat is dropped. */
  readonly seen: readonly string[];
  readonly signals: number;
}

export interface StopRequest {
  readonly by: StopCause;
  /** The driver cannot go on, and why: how the loop then ends. */
  readonly abort: { readonly type: 'fatal' | 'bad-input'; readonly message: string } | null;
  readonly now: boolean;
  /** The steps that were in flight when it came; without `now` they may finish. */
  readonly finishing: readonly string[];
}
