import type { Detector } from './completion.ts';
import type { CheckExcerpt, Excerpt } from './excerpt.ts';
import type { ExitCodes } from './outcome.ts';

/**
 * Everything in which two loops can differ, as plain data. The policy enters the state with `loop.created` and changes
 * with `policy.changed`, `loop.reopened` and `set`. The core reads it from nowhere else, so a journal keeps its meaning
 * when a flag changes. `null` always means "none". Times are milliseconds.
 */
export interface Policy {
  readonly preset: PresetName;
  readonly host: Host;
  /** Which API keys a known agent can see: all of the user's, or only its own. */
  readonly keys: 'all' | 'own';
  /** How a known agent is called: with the flags that let it work unattended, or with those of document 001's table. */
  readonly calls: 'autonomous' | 'documented';
  /** Whether prompt files and check logs also appear beside the settings, under the names of document 001. */
  readonly aliases: boolean;
  /** Whether the progress file also appears as `.architect/ralph-progress.md`, the name of document 002. */
  readonly progressLink: boolean;
  /**
   * Whether the workspace folder is also a task folder of document 000: with `TASK.md`, and for each run with its prompt, its output
   * and `run-info.yaml`. Records that other programs put there count as active children.
   */
  readonly taskFolder: boolean;
  /** What the agent can see and change of the machine; null for everything that the user can. */
  readonly sandbox: SandboxPolicy | null;
  readonly completion: CompletionPolicy;
  readonly checks: ChecksPolicy;
  /** The plan whose items the prompts and reports show; null without one. */
  readonly plan: PlanPolicy | null;
  readonly evidence: EvidencePolicy;
  readonly limits: LimitsPolicy;
  readonly timeouts: TimeoutsPolicy;
  readonly delay: DelayPolicy;
  readonly prompt: PromptPolicy;
  readonly commit: CommitPolicy | null;
  /** What becomes the message where the agent's answer has no tag: its first line and the paragraphs after it, or that line alone. */
  readonly commitMessage: 'paragraphs' | 'first-line';
  /** Location, branch and set-up of the worktree, for a loop that has one. */
  readonly worktree: WorktreePolicy;
  /** Keep the machine awake while the loop goes on by itself. */
  readonly keepAwake: boolean;
  /** Record the whole tree after every iteration. */
  readonly checkpoint: boolean;
  /** The size in bytes above which a file that git does not track is left out of records and commits. */
  readonly checkpointMaxFile: number | null;
  /** The size in bytes of all such files together, above which the largest of them are left out, too. */
  readonly checkpointMaxTotal: number | null;
  readonly children: ChildrenPolicy | null;
  readonly childLimits: ChildLimitsPolicy;
  /** Whether an edit of `max_iterations` in `state.json` changes the limit; every program that can write the file can edit it. */
  readonly stateEdits: boolean;
  /** What the loop posts on the buses: all messages of document 000, or only what people say to it. */
  readonly posts: (typeof POSTS)[number];
  readonly signals: SignalsPolicy;
  readonly wording: WordingPolicy;
  readonly exitCodes: ExitCodes;
}

export const POSTS = ['all', 'people'] as const;

export interface SandboxPolicy {
  /** Whether checks and set-up commands run in it too. */
  readonly checks: boolean;
  /** Paths that are writable in addition; `~` is the home, and a relative path starts at the workspace. */
  readonly write: readonly string[];
  /** Paths that are hidden in addition. */
  readonly hide: readonly string[];
  readonly network: boolean;
}

export const PRESET_NAMES = ['default', 'conductor', 'ralph-cli', 'architect', 'swarm', 'promise'] as const;
export type PresetName = (typeof PRESET_NAMES)[number];

/** Where the agent lives: a child process, a tmux window, or a session that another program keeps. */
export const HOSTS = ['process', 'tmux', 'session'] as const;
export type Host = (typeof HOSTS)[number];

/** What completes a loop: a claim and passed checks, passed checks alone, or a claim alone. */
export const UNTILS = ['both', 'checks', 'claim'] as const;
export type Until = (typeof UNTILS)[number];

export const AFTER_FAILURE = ['consider', 'checks', 'ignore'] as const;

export interface CompletionPolicy {
  readonly until: Until;
  /** Any one of these opens a claim. */
  readonly detectors: readonly Detector[];
  /**
   * Whether the claim of a failed run counts like any other (`DONE` outranks the exit code), only if checks confirm it, or
   * not at all.
   */
  readonly afterFailure: (typeof AFTER_FAILURE)[number];
  readonly handOver: HandOverPolicy;
  /** What happens to a marker file that existed before the loop: it is moved aside, or it is a claim. */
  readonly staleMarkers: 'move-aside' | 'claim';
}

/** How an agent asks for a person; the loop then ends as `waiting`. */
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
  /** Which part of a check's output goes into the prompt. */
  readonly excerpt: CheckExcerpt;
  /** Whether a loop without checks is an error. */
  readonly required: boolean;
  /** Whether the checks run once before the first iteration, to know which failed already. */
  readonly baseline: boolean;
}

export interface PlanPolicy {
  /** Relative to the folder in which the agent works, and inside of it. */
  readonly file: string;
}

/**
 * The files that a verdict rests on. Those that checks run and tests are always compared with the start; those that the
 * user protects may also reject a claim, or be put back.
 */
export interface EvidencePolicy {
  /** Globs relative to the workspace; only files that were there at the start count. */
  readonly protect: readonly string[];
  readonly onProtectedChange: OnProtectedChange;
  /** Whether the file of the prompt is watched in every loop, or only where other files are. */
  readonly promptFile: PromptFileWatch;
}

export const PROMPT_FILE_WATCHES = ['always', 'with-checks'] as const;
export type PromptFileWatch = (typeof PROMPT_FILE_WATCHES)[number];

/** After a change of a protected file: say so, reject the claim too, or put the file back before the checks. */
export const ON_PROTECTED_CHANGE = ['warn', 'reject', 'restore'] as const;
export type OnProtectedChange = (typeof ON_PROTECTED_CHANGE)[number];

/** A command that must exit 0. */
export interface Check {
  readonly command: string;
  readonly action: FailAction;
  /** Literal text for the agent when the check fails. */
  readonly hint: string | null;
  /** Ralph itself checks whether all items of the plan are done; `command` is what it is called. */
  readonly plan?: true;
}

/** Where the text about a failed check goes: after the prompt, before it, or in its place. */
export const FAIL_ACTIONS = ['APPEND', 'PREPEND', 'REPLACE'] as const;
export type FailAction = (typeof FAIL_ACTIONS)[number];

export interface LimitsPolicy {
  readonly iterations: number | null;
  readonly timeMs: number | null;
  readonly costUsd: number | null;
  readonly tokens: number | null;
  /** Consecutive failed runs. */
  readonly failures: number | null;
  /** Waits for a usage limit, after which the next one ends the loop. */
  readonly limitWaits: number | null;
  /** Iterations in which an item of the plan may be the next one, after which it is blocked. */
  readonly attemptsPerItem: number | null;
  /** Bytes of output per run. */
  readonly outputBytes: number | null;
  /** Number of consecutive iterations without progress after which the prompt nudges the agent, and after which the loop ends. */
  readonly unchanged: { readonly nudge: number | null; readonly end: number } | null;
  /** Without that: the number of such iterations with passed checks after which the loop says once that it would end then. */
  readonly unchangedNotice: number | null;
  /** How many times in a row the same answer of a session, without a tool call and a changed file, ends the loop. */
  readonly repeats: number | null;
  /** Whether limits are enforced right after an iteration, or only after its delay. */
  readonly lookedAt: 'after-iteration' | 'before-next';
  /** Whether the time, cost and token limits also stop a running agent. */
  readonly stopRunning: boolean;
}

/** The limits of which the loop says that they are nearly reached. */
export type NearedLimit = 'costUsd' | 'tokens' | 'timeMs';

export interface TimeoutsPolicy {
  readonly runMs: number | null;
  readonly inactivityMs: number | null;
  /** What a run must not leave unchanged for that long: its output, or the last lines that its terminal would show. */
  readonly inactivityOf: (typeof INACTIVITY_OF)[number];
  /** Whether an inactive run is a failure, or the agent is restarted (neither a failure nor a success). */
  readonly inactivityIs: 'failure' | 'restart';
  /** Time between SIGTERM and SIGKILL. */
  readonly killGraceMs: number;
  /** How long an agent in a terminal may take until it is ready for its prompt. */
  readonly readyMs: number;
}

export const INACTIVITY_OF = ['output', 'screen'] as const;

export interface DelayPolicy {
  readonly afterOkMs: number;
  /** After a failed run: a fixed time, or `min(2^(n-1) s, capMs)` after the n-th consecutive failure. */
  readonly afterFailure:
    | { readonly kind: 'fixed'; readonly ms: number }
    | { readonly kind: 'backoff'; readonly capMs: number };
  /** Waits at consecutive usage limits without a stated reset: after the first, the second, … */
  readonly usageLimitLadderMs: readonly number[];
}

export interface PromptPolicy {
  /** In the order in which they are applied; empty sections are left out. */
  readonly sections: readonly SectionName[];
  /** Which part of the accumulated diff goes into the prompt. */
  readonly diff: Excerpt;
  /** Replaces the base prompt from the second iteration on. */
  readonly continuation: string | null;
}

export const SECTION_NAMES = [
  'base',
  'task',
  'plan',
  'instructions',
  'how-to-claim',
  'failed-checks',
  'check-errors',
  'evidence',
  'execution-error',
  'diff',
  'progress',
  'messages',
  'guidance',
  'nudge',
  'continuation',
  'iteration-count',
  'restart-prefix',
  'preamble',
] as const;
export type SectionName = (typeof SECTION_NAMES)[number];

export interface CommitPolicy {
  /** The program, e.g. `git`. */
  readonly command: string;
  /** Run in this order; `commit` gets the message. */
  readonly tasks: readonly string[];
  /** Whether the agent writes the message, or it is made from the task. */
  readonly message: (typeof COMMIT_MESSAGES)[number];
  /** Timeout of each task. */
  readonly timeoutMs: number | null;
}

export const COMMIT_MESSAGES = ['agent', 'plain'] as const;

/** In `path` and `branch`, `{name}` is the loop's name and `{repository}` the name of the repository's folder. */
export interface WorktreePolicy {
  /** Relative to the top of the repository. */
  readonly path: string;
  readonly branch: string;
  /** Shell commands that run once in a new worktree, before the first iteration. */
  readonly setup: readonly string[];
  /** Timeout of each command. */
  readonly setupTimeoutMs: number | null;
}

/** After an accepted claim the loop waits for its running child loops. */
export interface ChildrenPolicy {
  readonly waitMs: number;
  readonly pollMs: number;
}

/** What keeps an agent from starting loops without end; 0 allows no child at all. */
export interface ChildLimitsPolicy {
  /** How many generations of child loops there may be below the first loop. */
  readonly maxDepth: number;
  /** How many child loops of one loop may be active at the same time. */
  readonly maxActive: number;
}

export interface SignalsPolicy {
  readonly SIGINT: SignalAction;
  readonly SIGTERM: SignalAction;
}

/** What the first signal does: finish the running step, pause after it, or end it now. The second always ends it now. */
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
  /** The status line of a run that failed, and of one that a retry may fix: `{reason}`, `{restart}` counts from 0. */
  readonly failedRunLine: string | null;
  readonly transientRunLine: string | null;
  /** The status lines of a run that took too long; `{limit}` is the time that it had. */
  readonly timedOutRunLines: readonly string[];
  /** An additional status line of a run that succeeded; `{attempt}` counts from 1. */
  readonly okRunLine: string | null;
  /** The status lines when the agent is restarted, after a failure and after a timeout: `{attempt}`, `{code}`, `{next}`. */
  readonly restartLines: readonly string[];
  readonly restartAfterTimeoutLines: readonly string[];
  /** Whether the time at the start of a line has the date too. */
  readonly datedStamps: boolean;
  /** The status line of a loop that ends because its agent asked to wait for a person. */
  readonly waitLine: string | null;
  /** The status line after the first signal of those that let the running step finish. */
  readonly signalLine: string | null;
  /** The answers of `ralph pause` and `ralph resume`; `{name}` is the name of the loop. */
  readonly pauseLine: string | null;
  readonly resumeLine: string | null;
  readonly alreadyPausedLine: string | null;
  readonly notPausedLine: string | null;
  /** What `ralph wait` says about a loop that has ended, if it then exits with 0; null for the result and the loop's exit code. */
  readonly exitedLine: string | null;
  /** The details of a check: `{command}`, and after it `{code}` and `{seconds}`. */
  readonly checkStartLine: string | null;
  readonly checkExitLine: string | null;
  /** What a successful run is called at its end; null for `run ended`, which does not sound as if the loop were done. */
  readonly runEndWord: string | null;
  /** Whether the line about a failed check always names its fail action, and not only with `--verbose`. */
  readonly showFailAction: boolean;
  /** Whether the final report has document 002's `stop_reason`. */
  readonly showStopReason: boolean;
}
