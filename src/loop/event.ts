import type { Claim, NearMiss, Phase } from './completion.ts';
import type { Outcome, Reopening, Signal, StopCause } from './outcome.ts';
import type { PlanProbe } from './plan.ts';
import type { LimitsPolicy, NearedLimit, Policy } from './policy.ts';
import type { Question } from './questions.ts';
import type { Receipt, StrayProcess } from './receipt.ts';
import type { RunError } from './run-error.ts';

export type { ErrorKind, RunError } from './run-error.ts';

/**
 * What has happened, in the past tense. The journal is a list of events and the only source of truth. The driver sets
 * `at` to `max(the last event's time, the clock)`, in milliseconds since the epoch.
 */
export type LoopEvent = Happening & { readonly at: number };

/** An event without its time. */
export type Happening =
  /** The loop was created, with its first policy; `left` if its creator left it to another owner, who comes next. */
  | { readonly type: 'loop.created'; readonly name: string; readonly policy: Policy; readonly left?: true }
  /** The policy was replaced; `by` is set if an edit of `state.json` did it, and absent for a person's new settings. */
  | { readonly type: 'policy.changed'; readonly policy: Policy; readonly by?: 'state.json' }
  /** The tree that the loop starts from is recorded; before the first run. Absent if that was not possible. */
  | ({ readonly type: 'start.recorded' } & StartRecord)
  /** Another process drives the loop, which had no owner since the previous event; `agentGone` if its agent ran no more. */
  | { readonly type: 'owner.changed'; readonly owner: string; readonly agentGone?: true }
  /** The owner has stopped driving and left a running agent, if there is one, to the next owner. */
  | { readonly type: 'owner.left' }
  /** An iteration was started and charged. */
  | { readonly type: 'iteration.started'; readonly iteration: number }
  /** A run is about to start; a new owner can find it from here on. `guidance` has the ids of what its prompt passes on. */
  | {
      readonly type: 'run.planned';
      readonly run: string;
      readonly purpose: Purpose;
      readonly guidance: readonly string[];
      readonly prompt: PromptRecord | null;
    }
  /** The agent's process started, or an owner reattached to it after a crash. */
  | { readonly type: 'run.started'; readonly run: string; readonly receipt: Receipt }
  /** Everything known from the run's output up to `offset`: absolute values, the last event wins. */
  | ({ readonly type: 'run.output'; readonly run: string } & OutputSnapshot)
  /** The run ended, judged once and for all by `classify`; `jitter` in [0, 1) spreads the waits of loops at the same limit. */
  | {
      readonly type: 'run.ended';
      readonly run: string;
      readonly ending: RunEnding;
      readonly as: RunClass;
      readonly jitter: number;
      /** Processes that may have escaped from the run; Ralph did not stop them. */
      readonly strays?: readonly StrayProcess[];
    }
  /** The checks of a run started. */
  | { readonly type: 'checks.started'; readonly iteration: number; readonly run: string | null }
  /** A check finished; iteration 0 is the baseline before the first iteration. */
  | {
      readonly type: 'check.finished';
      readonly iteration: number;
      readonly run: string | null;
      readonly index: number;
      readonly command: string;
      readonly result: CheckResult;
    }
  /** What a probe found before or after a run. */
  | ({ readonly type: 'probe.finished'; readonly key: string; readonly phase: Phase } & Probe)
  /** The files that the evidence rests on were compared with the start. */
  | ({ readonly type: 'evidence.examined'; readonly key: string } & Evidence)
  /** Changed protected files were put back. */
  | ({ readonly type: 'evidence.restored'; readonly key: string } & Restoration)
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
  /**
   * The evidence disagrees: these checks failed, the run failed and no check could confirm its claim, or protected files
   * (`files`) are not as they were at the start.
   */
  | {
      readonly type: 'claim.rejected';
      readonly iteration: number;
      readonly run: string | null;
      readonly failed: readonly string[];
      readonly because?: 'run-failed' | 'protected-change';
      readonly files?: readonly string[];
    }
  /** Whether there is anything to commit, and what prevents a commit (`error`). */
  | ({ readonly type: 'changes.found'; readonly iteration: number } & Changes)
  /**
   * The version control tasks of the iteration ran, or failed (`error`): which tasks were done, and the id of the commit
   * if there is one.
   */
  | {
      readonly type: 'commit.made';
      readonly iteration: number;
      readonly commit: string | null;
      readonly done: readonly string[];
      readonly error: string | null;
      /** The first line of the commit's message and the number of files it changed; absent if unknown. */
      readonly subject?: string;
      readonly files?: number;
      /** The branch that the commit was made on; null for a detached HEAD, absent if unknown. */
      readonly branch?: string | null;
    }
  /** The tree after an iteration was recorded; `error` says why not, or why not all of it. */
  | {
      readonly type: 'checkpoint.taken';
      readonly iteration: number;
      readonly ref: string | null;
      readonly error: string | null;
      /** The id of the tree; absent if none was recorded. */
      readonly tree?: string;
      /** Like that of a probe; absent if it was not asked for or is not known. */
      readonly fingerprint?: string;
    }
  /** Another loop of the same account hit a usage limit; `jitter` as above. */
  | {
      readonly type: 'limit.shared';
      readonly resetsAt: number;
      readonly message: string;
      readonly jitter: number;
    }
  /**
   * Most of a limit is used: in dollars, tokens or milliseconds of active time. `used` includes what is assumed for runs of
   * unknown usage.
   */
  | { readonly type: 'limit.neared'; readonly limit: NearedLimit; readonly used: number; readonly of: number }
  /** Iterations changed nothing although every check passes, and no limit ends such a loop. */
  | { readonly type: 'unchanged.noticed'; readonly unchanged: number }
  /** The owner has read what the other loops of the family have spent, and which limits of loops above hold: the last count wins. */
  | ({ readonly type: 'family.counted' } & FamilyCount)
  /** A wait is over, or an alarm has gone off. */
  | { readonly type: 'timer.fired'; readonly key: string }
  /** A child loop was started; `run` is the run or the check of this loop that did it, and absent for a `record`. */
  | {
      readonly type: 'child.started';
      readonly child: string;
      readonly run?: string;
      /** The child is no loop: another program has recorded its run in the task folder. */
      readonly record?: true;
    }
  /** A child loop ended. `outcome` is null if it was `lost`, and absent for a recorded run. */
  | {
      readonly type: 'child.ended';
      readonly child: string;
      readonly outcome?: Outcome | null;
      readonly lost?: ChildLoss;
    }
  /** An agent or a person asked a question on the bus; its default applies after `timeoutMs`. */
  | ({ readonly type: 'question.asked'; readonly timeoutMs: number | null } & Question)
  /** A person, a signal or the driver wants something; `id` identifies repeats. */
  | { readonly type: 'control.received'; readonly id: string; readonly control: Control }
  /** The loop ended; after this only `loop.reopened` is accepted. */
  | { readonly type: 'loop.ended'; readonly outcome: Outcome }
  /** An ended loop continues. */
  | ({ readonly type: 'loop.reopened' } & Reopening);

/** The prompt of a run. */
export interface PromptRecord {
  readonly path: string;
  readonly hash: string;
  /** The hash of what the user wrote, without what Ralph adds from run to run. */
  readonly base: string;
  /** The id of the last message on the bus that it shows; absent if it shows none. */
  readonly messagesUpTo?: string;
}

/** The tree at the loop's start. Refs can be written by an agent, so the journal has the ids. */
export interface StartRecord {
  /** The id of the tree. */
  readonly tree: string;
  /** The branch of a loop that commits; null for a detached HEAD, absent if unknown. */
  readonly branch?: string | null;
  /** SHA-256 of the list of its files; absent if nothing was watched at the start. */
  readonly files?: string;
  /** The loop's folder in the repository, in Latin-1 with a slash at its end; absent for the top, or if nothing was watched. */
  readonly folder?: string;
  /** The file of the loop's prompt, relative to the workspace, if it is in the tree; absent if it is not. */
  readonly prompt?: string;
  /**
   * Watched files whose content on disk git does not store as it is, by their path in Latin-1 from the top of the
   * repository: the mode and the object of the exact content. Absent if there are none.
   */
  readonly exact?: Readonly<Record<string, string>>;
}

/** The files that the evidence rests on and that differ from the start. */
export interface Evidence {
  /** The first few: the prompt, then protected ones. */
  readonly changed: readonly ChangedEvidence[];
  /** How many more there are. */
  readonly more: number;
  /** How many of all are protected. */
  readonly protected: number;
  /** Why they could not be compared; null if they were. */
  readonly problem: string | null;
}

export interface ChangedEvidence {
  /** Relative to the workspace, without control characters. */
  readonly path: string;
  readonly how: 'changed' | 'deleted';
  /** Why it counts: the loop reads its prompt from it, the user protects it, a check runs it, or it is a test. */
  readonly as: 'prompt' | 'protected' | 'check' | 'test';
  /** The part that was changed, for a file of which only a part counts: `scripts.test`. */
  readonly part?: string;
}

/** What became of the changed protected files. */
export interface Restoration {
  /** The first few that are as they were at the start again, and how many more there are. */
  readonly restored: readonly string[];
  readonly more: number;
  /** The first few that could not be put back, and why. */
  readonly failed: readonly { readonly path: string; readonly reason: string }[];
  readonly moreFailed: number;
}

/** The longest text that `tell` delivers: more than any prompt needs, and little enough for every agent. */
export const MAX_TELL_LENGTH: number = 2 ** 20;

/** Why a child loop has no outcome: no process drives it and none will, or its files are gone. */
export const CHILD_LOSSES = ['crashed', 'removed'] as const;
export type ChildLoss = (typeof CHILD_LOSSES)[number];

/** What the ledger of a family says to one of its loops (`family.ts`). */
export interface FamilyCount {
  /** What the loops have spent that were started from inside its runs and theirs, and how many have spent anything. */
  readonly below: { readonly loops: number; readonly usd: number; readonly tokens: number };
  /** The loops above that have a limit, the nearest first. */
  readonly above: readonly UpperLimits[];
}

export interface UpperLimits {
  readonly id: string;
  readonly name: string;
  readonly limits: {
    readonly usd: number | null;
    readonly tokens: number | null;
    readonly timeMs: number | null;
    /** When its time is over. */
    readonly until: number | null;
  };
  /** What all other loops have spent towards these limits. */
  readonly others: { readonly usd: number; readonly tokens: number };
  /** Their runs of unknown usage, if no loop of the family knows what a run uses; null if one does. */
  readonly uncharged: { readonly usd: number | null; readonly tokens: number | null };
}

/** What there is to commit. */
export interface Changes {
  readonly any: boolean;
  /** Nothing is left to commit, but the other tasks have not run for the existing commits. */
  readonly committed?: boolean;
  readonly error: string | null;
}

/** What a run is for: the iteration's work, or a commit message for it. */
export type Purpose = 'work' | 'commit-message';

export interface OutputSnapshot {
  readonly offset: number;
  /** Bytes of stderr read so far; absent for 0. */
  readonly complained?: number;
  /** The agent's id of its session. */
  readonly session?: string;
  /** Number of lines that the parser did not understand; absent for 0. */
  readonly unknown?: number;
  readonly tokens: Tokens | null;
  readonly cost: Cost | null;
  /** The output tokens are partly estimated from the text; absent otherwise. */
  readonly outputEstimated?: true;
  /** Number of tool calls. */
  readonly steps: number;
  /** The result that the agent's stream reports at its end; null until then, and without a parser. */
  readonly said: 'success' | 'error' | null;
  readonly claim: Claim | null;
  /** A `continuous` detector found the claim, so the run may end now. */
  readonly claimEndsRun: boolean;
  /** A tag that is no claim because of its place; absent while the run continues, and if there is a claim. */
  readonly nearMiss?: NearMiss;
  readonly limit: UsageLimit | null;
  /** The agent's last word is that it cannot reach its provider and retries; absent otherwise. */
  readonly unreachable?: true;
  /** Identifies the answer of a session's turn without a tool call; absent for any other. */
  readonly answer?: string;
}

export interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** A cost, reported by the agent or estimated from a price table. */
export interface Cost {
  readonly usd: number;
  readonly source: 'reported' | 'estimated';
  /** The price of some of the models is unknown, so the true cost is higher. */
  readonly isPartial?: true;
}

/** The provider refuses requests until `resetsAt`; null if it does not say until when. */
export interface UsageLimit {
  readonly resetsAt: number | null;
  readonly message: string;
}

/** What an ended run means for the loop. */
export type RunClass =
  /** The agent completed its work. */
  | 'ok'
  /** The run failed; it counts, and the next iteration starts after a delay. */
  | 'failure'
  /** The provider's usage limit: not charged, retried when the limit resets. */
  | 'usage-limit'
  /** The provider did not respond (overload, server error, no connection): not charged, retried. */
  | 'outage'
  /** The agent asks for a person. */
  | 'wait'
  /** A retry cannot help. */
  | 'fatal'
  /** Inactive for too long, where the policy restarts the agent instead of counting a failure. */
  | 'restart'
  /** The driver stopped the run. */
  | 'interrupted';

export type RunEnding =
  /** The process exited; `code` is null if its exit code is unknown. */
  | { readonly how: 'exited'; readonly code: number | null; readonly error: RunError | null }
  /** The run exceeded its time, inactivity or output limit, or the loop's time limit (`total`). */
  | {
      readonly how: 'timed-out';
      readonly which: 'wall' | 'inactivity' | 'output' | 'total';
      /** The agent started and was silent from then on: its provider never answered. Absent otherwise. */
      readonly unanswered?: true;
      /** The exit code, which names the signal: 143 after SIGTERM, 137 after SIGKILL. Absent if it is 0 or unknown. */
      readonly code?: number;
    }
  /** The driver stopped the run because it was no longer wanted. */
  | { readonly how: 'interrupted' }
  /** The process could not be started. */
  | { readonly how: 'not-started'; readonly error: RunError };

export interface CheckResult {
  /** Null if Ralph ended the check, at its timeout or at the output limit. */
  readonly code: number | null;
  readonly timedOut: boolean;
  /** It printed more than it may; absent otherwise. */
  readonly flooded?: true;
  readonly durationMs: number;
  /** Path of the whole output. */
  readonly log: string;
}

export interface Probe {
  /** Names of the marker files that exist. */
  readonly markers: readonly string[];
  /** Why a marker cannot be used: it is a directory, or cannot be inspected. */
  readonly problem: string | null;
  /** Types of the bus messages since the previous probe. */
  readonly messages: readonly string[];
  /** The id of the last of them; absent if there is none. */
  readonly messagesUpTo?: string;
  /** Head, tree and task list as one string; null unless it was asked for. */
  readonly fingerprint: string | null;
  /** Why a loop that is done may not know all runs that others have recorded in its task folder; absent otherwise. */
  readonly childrenProblem?: string;
  /** What the plan says; absent for a loop without one. */
  readonly plan?: PlanProbe;
}

export type Control =
  /** Rest after the running iteration. */
  | { readonly type: 'pause' }
  /** Continue; with `now`, end a wait for a usage limit or outage too. */
  | { readonly type: 'resume'; readonly now: boolean }
  /** End after the running step, or with `now` at once. */
  | { readonly type: 'stop'; readonly now: boolean; readonly by: StopCause }
  /** The owner received a signal; the policy says what it does. */
  | { readonly type: 'signal'; readonly signal: Signal }
  /** Guidance for the agent's next prompt. */
  | { readonly type: 'tell'; readonly text: string }
  /** Answers a question: the one with this id on the bus, or the oldest open one. */
  | { readonly type: 'answer'; readonly question: string | null; readonly text: string }
  /** The driver cannot continue (full disk, missing tool), or with `as` the user's request cannot be met. */
  | { readonly type: 'abort'; readonly message: string; readonly as?: 'bad-input' }
  /** Changes limits. */
  | { readonly type: 'set'; readonly limits: Partial<LimitsPolicy> };
