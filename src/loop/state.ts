import type { Attempts } from './attempts.ts';
import type { Claim, NearMiss } from './completion.ts';
import type {
  Changes,
  CheckResult,
  Cost,
  Evidence,
  FamilyCount,
  OutputSnapshot,
  Probe,
  Purpose,
  Restoration,
  RunClass,
  RunEnding,
  StartRecord,
  Tokens,
} from './event.ts';
import type { Receipt } from './receipt.ts';
import type { Repeats } from './progress.ts';
import type { Outcome, Signal, StopCause } from './outcome.ts';
import type { FailAction, NearedLimit, Policy } from './policy.ts';
import type { OpenQuestion } from './questions.ts';

/**
 * What the journal folds to. Plain data, written only by `evolve`. It does not grow with the number of iterations,
 * only with guidance that no run has used yet.
 */
export interface LoopState {
  readonly created: boolean;
  readonly name: string;
  readonly policy: Policy;
  /** The last event's time. */
  readonly now: number;
  /** Working time: excludes the time in which the loop rested, had ended or had no owner. */
  readonly activeMs: number;
  readonly outcome: Outcome | null;
  /** The tree that the loop started from; null if it is not recorded, and the evidence is not watched. */
  readonly start: StartRecord | null;
  /** Iterations charged so far. */
  readonly iteration: number;
  readonly turn: Turn;
  /** Results of the checks before the first iteration, in order, as far as they have run. */
  readonly baseline: readonly CheckResult[];
  readonly failures: { readonly consecutive: number; readonly total: number };
  /** Consecutive usage limits: the position on `usageLimitLadderMs`. */
  readonly rung: number;
  /** Waits for a usage limit since the loop was last resumed, also for one that another loop hit. */
  readonly limitWaits: number;
  /** Consecutive outages. */
  readonly outages: number;
  /** Consecutive runs that the provider never answered. */
  readonly unanswered: number;
  /** The last refused request, if no run has succeeded since. */
  readonly refusal: Refusal | null;
  /** By ended runs only; `spentSoFar` adds the running one. */
  readonly spent: Spend;
  /** How ended runs of unknown usage count towards the limits. */
  readonly charges: Charges;
  /** What the family's ledger said when it was last read. */
  readonly family: FamilyCount;
  /** The agent's session that was named last, and what it has cost this loop. */
  readonly session: SessionSpend | null;
  readonly progress: Progress;
  /** Of the items of the plan that are not done. */
  readonly attempts: readonly Attempts[];
  readonly repeats: Repeats;
  readonly feedback: Feedback;
  readonly control: ControlState;
  /** The ids of child loops that have started and not ended. */
  readonly children: readonly string[];
  /** The ids of the last child loops whose end is recorded. */
  readonly endedChildren: readonly string[];
  /** Questions that have no answer yet, oldest first. */
  readonly questions: readonly OpenQuestion[];
  readonly messages: MessageMarks;
  /**
   * The limits that were said to be nearly reached, as they were then, and after how many iterations without progress the loop
   * mentioned the limit on them; null for what was not said yet.
   */
  readonly noticed: Readonly<Record<NearedLimit | 'unchanged', number | null>>;
  /** Whether an agent process has ever started. */
  readonly everStarted: boolean;
}

/** One iteration, from the probe before it to the wait after it. */
export interface Turn {
  /** The number that the iteration has, or will have once it is started. */
  readonly iteration: number;
  readonly started: boolean;
  /** Number of planned runs, for work and for commit messages. */
  readonly runs: number;
  readonly before: Probe | null;
  /** A usage limit that another loop of the account hit, and until when this loop waits for it. */
  readonly sharedLimit: {
    readonly until: number;
    readonly resetsAt: number;
    readonly message: string;
  } | null;
  /** A person resumed the loop without waiting for it. */
  readonly ignoresSharedLimit: boolean;
  /** The run that does the work; null before it is planned. */
  readonly run: Run | null;
  readonly after: Probe | null;
  /** Null until the evidence was examined. */
  readonly evidence: Evidence | null;
  /** Null until changed protected files were put back. */
  readonly restoration: Restoration | null;
  readonly checksStarted: boolean;
  /** By index; null until the check has finished. */
  readonly checks: readonly (CheckResult | null)[];
  readonly claim: JudgedClaim | null;
  /** Whether there is anything to commit; null until the driver has looked. */
  readonly changes: Changes | null;
  /** The run that writes the commit message. */
  readonly messageRun: Run | null;
  readonly committed: boolean;
  readonly checkpointed: boolean;
  /** The fingerprint of the tree that the checkpoint recorded; null if it was not asked for or is not known. */
  readonly recorded: string | null;
  readonly childrenTimedOut: boolean;
  /** The time of the last event of this turn: waits count from here. */
  readonly at: number;
}

export interface JudgedClaim extends Claim {
  readonly verdict: 'open' | 'accepted' | 'rejected';
  /** The claim was accepted, and checks could have contradicted it. */
  readonly verified: boolean;
}

export interface Run {
  readonly id: string;
  readonly purpose: Purpose;
  readonly plannedAt: number;
  /** Identifies its process; null before the process has started. */
  readonly receipt: Receipt | null;
  /** Identifies what the user wrote of its prompt; null if that is unknown. */
  readonly prompt: string | null;
  readonly guidance: readonly string[];
  /** The last message on the bus that its prompt shows; absent if it shows none. */
  readonly messagesUpTo?: string;
  readonly output: OutputSnapshot;
  readonly ended: { readonly ending: RunEnding; readonly as: RunClass; readonly jitter: number } | null;
}

/** A request that the provider refused, for example because the prompt is too long. */
export interface Refusal {
  readonly prompt: string | null;
  readonly message: string;
  /** The agent had not used a tool, so the prompt itself was refused. */
  readonly isOfPrompt: boolean;
  /** How many times the same prompt was refused in the same way. */
  readonly times: number;
}

export interface Spend {
  readonly tokens: Tokens;
  readonly usd: number;
  /** The least reliable source in the sum; null while nothing was added. */
  readonly source: Cost['source'] | null;
  /** Runs whose cost is unknown. */
  readonly unknownRuns: number;
  /** Runs whose tokens are unknown. */
  readonly unknownTokenRuns: number;
  /** Runs whose output tokens are partly estimated. */
  readonly estimatedOutputRuns: number;
}

/** For the cost limit and for the token limit. */
export type Charges = Readonly<Record<'usd' | 'tokens', Charge>>;

/** The runs of unknown usage that are charged as the dearest run whose usage is known. */
export interface Charge {
  /** Null if no usage is known. */
  readonly dearest: number | null;
  readonly unknownRuns: number;
  /** Those since the loop was last resumed that were not interrupted. */
  readonly blindRuns: number;
}

/** Some agents report totals of a session, which a later run may continue. */
export interface SessionSpend {
  readonly id: string;
  readonly tokens: Tokens;
  readonly usd: number;
}

export interface Progress {
  /** The trees that iterations left behind, each with its check results; the latest of them, if there are many. */
  readonly seen: readonly string[];
  /** Consecutive iterations that ended with a tree and check results that had occurred before. */
  readonly unchanged: number;
  /** The tree that the last run left; that of an earlier one if it changed nothing. */
  readonly left: string | null;
  /** The tree that the next run finds, after checks and commits; null if it is not known. */
  readonly found: string | null;
}

/** What the next prompt tells the agent about the last iteration. */
export interface Feedback {
  readonly failed: readonly FailedCheck[];
  /** The iteration that `failed` is from; 0 is before the first one. */
  readonly failedIn: number;
  readonly error: string | null;
  /** The run that failed with `error`. */
  readonly errorOf: string | null;
  /** Absent if there was none. */
  readonly missed?: NearMiss;
  /** Whether checks have contradicted a claim of the last run; absent if not. */
  readonly rejected?: true;
  /** Absent if the evidence is as it was at the start. */
  readonly evidence?: EvidenceFeedback;
}

/** Files that the evidence rests on and that the agent has changed, and what Ralph did about the protected ones. */
export interface EvidenceFeedback {
  readonly found: Evidence;
  readonly restoration: Restoration | null;
}

export interface FailedCheck {
  readonly index: number;
  readonly command: string;
  readonly action: FailAction;
  readonly hint: string | null;
  readonly result: CheckResult;
}

/** The ids of the last messages on the bus that were used; null if there was none. */
export interface MessageMarks {
  /** In the prompt of a run that was not cut short. */
  readonly shown: string | null;
  /** By a probe. */
  readonly probed: string | null;
  /** As a question. */
  readonly asked: string | null;
}

export interface ControlState {
  readonly paused: boolean;
  readonly stop: StopRequest | null;
  readonly guidance: readonly { readonly id: string; readonly text: string }[];
  /** Ids of the last controls, to drop repeats. */
  readonly seen: readonly string[];
  readonly signals: number;
}

export interface StopRequest {
  readonly by: StopCause;
  readonly signal: Signal | null;
  /** Set when the driver cannot continue: the outcome with which the loop ends. */
  readonly abort: { readonly type: 'fatal' | 'bad-input'; readonly message: string } | null;
  readonly now: boolean;
  /** Keys of the steps that were in flight at the request; without `now` they may finish. */
  readonly finishing: readonly string[];
}
