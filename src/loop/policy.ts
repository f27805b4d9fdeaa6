import type { Detector } from './completion.ts';
import type { Excerpt } from './excerpt.ts';
import type { ExitCodes } from './outcome.ts';

/**
 * Everything in which two loops may differ, as plain data. It enters the state with `loop.created`, changes
 * with `policy.changed` and `set`, and is never read from anywhere else, so that history keeps its meaning
 * when a flag changes. `null` always means "none". Times are milliseconds.
 */
export interface Policy {
  readonly preset: PresetName;
  readonly host: Host;
  /** Which API keys an agent that we know gets to see: all that the user has, or only its own. */
  readonly keys: 'all' | 'own';
  /** How an agent that we know is called: with the power to work alone, or with the flags of document 001's table. */
  readonly calls: 'autonomous' | 'documented';
  /** Whether prompt files and check logs can be found beside the settings too, under the names of document 001. */
  readonly aliases: boolean;
  readonly completion: CompletionPolicy;
  readonly checks: ChecksPolicy;
  readonly limits: LimitsPolicy;
  readonly timeouts: TimeoutsPolicy;
  readonly delay: DelayPolicy;
  readonly prompt: PromptPolicy;
  readonly commit: CommitPolicy | null;
  /** What a tree of the loop's own looks like, where one is wanted. */
  readonly worktree: WorktreePolicy;
  /** Record the whole tree after every iteration. */
  readonly checkpoint: boolean;
  readonly children: ChildrenPolicy | null;
  readonly signals: SignalsPolicy;
  readonly wording: WordingPolicy;
  readonly exitCodes: ExitCodes;
}

export const PRESET_NAMES = ['default', 'conductor', 'ralph-cli', 'architect', 'swarm', 'promise'] as const;
export type PresetName = (typeof PRESET_NAMES)[number];

/** Where the agent lives: a child process, a tmux window, or a session that somebody else keeps. */
export const HOSTS = ['process', 'tmux', 'session'] as const;
export type Host = (typeof HOSTS)[number];

/** What completes a loop: an accepted claim with green checks, green checks alone, or the claim alone. */
export const UNTILS = ['both', 'checks', 'claim'] as const;
export type Until = (typeof UNTILS)[number];

export interface CompletionPolicy {
  readonly until: Until;
  /** Any one of them opens a claim. */
  readonly detectors: readonly Detector[];
  /** Whether a claim counts in a run that failed (`DONE` outranks the exit code) or is ignored there. */
  readonly afterFailure: 'consider' | 'ignore';
  readonly handOver: HandOverPolicy;
  /** What a marker means that was there before the loop: it is moved aside, or it is a claim. */
  readonly staleMarkers: 'move-aside' | 'claim';
}

/** How an agent asks to be left alone until a person has looked. */
export interface HandOverPolicy {
  readonly exitCode: number | null;
  /** Name of a file in the loop's folder. */
  readonly marker: string | null;
  /** Type of a bus message. */
  readonly busMessage: string | null;
}

export interface ChecksPolicy {
  readonly commands: readonly Check[];
  readonly timeoutMs: number | null;
  /** What of a check's output the agent gets to read. */
  readonly excerpt: Excerpt;
  /** A loop without any check is refused. */
  readonly required: boolean;
  /** Whether they are run once before the first iteration, to know what was red before. */
  readonly baseline: boolean;
}

/** A command that must exit 0. */
export interface Check {
  readonly command: string;
  readonly action: FailAction;
  /** Guidance for the agent, literal. */
  readonly hint: string | null;
}

/** Where the text of a failed check goes in the next prompt. */
export const FAIL_ACTIONS = ['APPEND', 'PREPEND', 'REPLACE'] as const;
export type FailAction = (typeof FAIL_ACTIONS)[number];

export interface LimitsPolicy {
  readonly iterations: number | null;
  readonly timeMs: number | null;
  readonly costUsd: number | null;
  readonly tokens: number | null;
  /** Failed runs in a row. */
  readonly failures: number | null;
  /** Bytes that one run may print. */
  readonly outputBytes: number | null;
  /** After how many iterations without any change the agent is nudged, and after how many the loop ends. */
  readonly unchanged: { readonly nudge: number; readonly end: number } | null;
  /** Whether the limits are looked at right after an iteration, or only once its delay has passed. */
  readonly lookedAt: 'after-iteration' | 'before-next';
  /** Whether time, cost and tokens also stop an agent that is running. */
  readonly stopRunning: boolean;
}

export interface TimeoutsPolicy {
  readonly runMs: number | null;
  readonly inactivityMs: number | null;
  /** Whether an inactive agent has failed, or is only started afresh (counts as neither failure nor success). */
  readonly inactivityIs: 'failure' | 'restart';
  /** Between SIGTERM and SIGKILL. */
  readonly killGraceMs: number;
}

export interface DelayPolicy {
  readonly afterOkMs: number;
  /** After a failed run: always the same time, or `min(2^(n-1) s, capMs)` for the n-th failure in a row. */
  readonly afterFailure:
    | { readonly kind: 'fixed'; readonly ms: number }
    | { readonly kind: 'backoff'; readonly capMs: number };
  /** Whether a provider that does not serve us is waited for at nobody's cost, or makes a run a failed one. */
  readonly outageIs: 'waited-for' | 'failure';
  /** How long to wait at a usage limit that does not say when it resets: first time, second time, … */
  readonly usageLimitLadderMs: readonly number[];
}

export interface PromptPolicy {
  /** In the order in which they are applied; those that have nothing to say are left out. */
  readonly sections: readonly SectionName[];
  /** What of the accumulated diff the agent gets to read. */
  readonly diff: Excerpt;
  /** Replaces the base prompt from the second iteration on. */
  readonly continuation: string | null;
}

export const SECTION_NAMES = [
  'base',
  'task',
  'instructions',
  'how-to-claim',
  'failed-checks',
  'check-errors',
  'execution-error',
  'diff',
  'progress',
  'messages',
  'guidance',
  'nudge',
  'continuation',
  'iteration-count',
] as const;
export type SectionName = (typeof SECTION_NAMES)[number];

export interface CommitPolicy {
  /** The program, e.g. `git`. */
  readonly command: string;
  /** In order; `commit` gets the message. */
  readonly tasks: readonly string[];
  /** Whether the agent is asked for the message, or it says what the task was. */
  readonly message: (typeof COMMIT_MESSAGES)[number];
  /** What one of them may take. */
  readonly timeoutMs: number | null;
}

export const COMMIT_MESSAGES = ['agent', 'plain'] as const;

/** In both texts `{name}` is the loop's name, and `{repository}` that of the repository's folder. */
export interface WorktreePolicy {
  /** Where it is, from the top of the repository. */
  readonly path: string;
  readonly branch: string;
  /** Lines for the shell that are run once in a fresh one, before the first iteration. */
  readonly setup: readonly string[];
  /** What one of them may take. */
  readonly setupTimeoutMs: number | null;
}

/** After an accepted claim the loop waits for the child loops that are still at work. */
export interface ChildrenPolicy {
  readonly waitMs: number;
  readonly pollMs: number;
}

export interface SignalsPolicy {
  readonly SIGINT: SignalAction;
  readonly SIGTERM: SignalAction;
}

/** What the first signal does; the second one always kills. */
export const SIGNAL_ACTIONS = ['finish', 'pause', 'kill'] as const;
export type SignalAction = (typeof SIGNAL_ACTIONS)[number];

/** Texts that a document prescribes word for word; null where Ralph's own text is shown. */
export interface WordingPolicy {
  /** The reason given when the loop ends at its iteration limit. */
  readonly iterationLimitReason: string | null;
  /** An additional status line at that end; `{iterations}` is the number of iterations. */
  readonly iterationLimitLine: string | null;
  /** The status line of a run that a retry cannot fix; `{reason}` is its error. */
  readonly fatalRunLine: string | null;
  /** Whether the line about a failed check always names its fail action, and not only with `--verbose`. */
  readonly showFailAction: boolean;
}
