import type { Phase } from './completion.ts';
import type { Happening, Purpose, StartRecord } from './event.ts';
import type { PlanToProbe } from './attempts.ts';
import type { Check, CommitPolicy } from './policy.ts';
import type { PromptPlan } from './prompt.ts';

/**
 * What should be in progress now. The driver starts each wanted key that is not in flight, interrupts each key in flight
 * that is no longer wanted (and waits until it has stopped), and asks `decide` again after every event. An effect can be
 * interrupted at any moment and carried out again. The content under a key may change (a deadline moves, a child ends):
 * it is still the same effect, and its last content counts.
 */
export type Effect = EffectBody & { readonly key: string };

type EffectBody =
  /** Move these marker files aside, if they exist, and append this decision to the journal. */
  | { readonly type: 'record'; readonly event: Happening; readonly moveAside: readonly string[] }
  /** Look for markers, messages, the tree's fingerprint and the plan; results in `probe.finished`. */
  | {
      readonly type: 'probe';
      readonly phase: Phase;
      readonly markers: readonly string[];
      readonly messages: boolean;
      /** The id of the last message that an earlier probe found; null if there was none. */
      readonly messagesAfter: string | null;
      readonly fingerprint: boolean;
      readonly plan: PlanToProbe | null;
      readonly iteration: number;
    }
  /** Start an agent, or reattach to the running one; results in `run.planned` … `run.ended`. */
  | {
      readonly type: 'run';
      readonly run: string;
      readonly purpose: Purpose;
      readonly plan: PromptPlan;
      /** Ids of the controls whose guidance the plan passes on. */
      readonly guidance: readonly string[];
      /** The id of the last message that an earlier run was shown; null if there was none. */
      readonly messagesAfter: string | null;
      /** When it was planned; null before that. */
      readonly plannedAt: number | null;
      /** Counted from `run.planned`. */
      readonly timeoutMs: number | null;
      readonly inactivityMs: number | null;
      /** When the loop's own time limit is reached. */
      readonly notAfter: number | null;
      readonly outputBytes: number | null;
      readonly killGraceMs: number;
      /** Whether to wait first for a usage limit that another loop of the account hit; results in `limit.shared`. */
      readonly respectsSharedLimit: boolean;
    }
  /** Compare the files that the evidence rests on with the start; results in `evidence.examined`. */
  | { readonly type: 'examine'; readonly start: StartRecord }
  /** Put changed protected files back; results in `evidence.restored`. */
  | { readonly type: 'restore'; readonly start: StartRecord }
  /** Run one check; results in `check.finished`. Iteration 0 is the baseline. */
  | {
      readonly type: 'check';
      readonly iteration: number;
      readonly run: string | null;
      readonly index: number;
      readonly check: Check;
      readonly timeoutMs: number | null;
    }
  /** Look whether there is anything to commit; results in `changes.found`. */
  | { readonly type: 'changes'; readonly iteration: number; readonly commit: CommitPolicy }
  /** Run the version control tasks; results in `commit.made`. */
  | {
      readonly type: 'commit';
      readonly iteration: number;
      readonly message: MessageSource;
      readonly commit: CommitPolicy;
    }
  /** Record the tree, and with `fingerprint` tell whether it changed; results in `checkpoint.taken`. */
  | { readonly type: 'checkpoint'; readonly iteration: number; readonly fingerprint: boolean }
  /** Sleep; results in `timer.fired`. Null if only a control can end the wait. */
  | { readonly type: 'wait'; readonly until: number | null; readonly why: WaitReason }
  /** The same, beside whatever else is wanted. */
  | { readonly type: 'alarm'; readonly until: number }
  /** Watch these child loops until they end or time out; results in `child.ended` or `timer.fired`. */
  | {
      readonly type: 'children';
      readonly children: readonly string[];
      readonly until: number;
      readonly pollMs: number;
    }
  /** Do nothing until a person resumes the loop. */
  | { readonly type: 'rest' };

/**
 * Where a commit's message comes from: the run that wrote it; `plain` if the agent was not asked or was cut short;
 * `missing` if the agent was asked and gave none; `committed` if the work is committed already and needs none.
 */
export type MessageSource = { readonly run: string } | 'plain' | 'missing' | 'committed';

/** Why the loop waits: a usage limit, an outage, a failure, the delay between iterations, or a person's answer. */
export type WaitReason = 'usage-limit' | 'outage' | 'backoff' | 'delay' | 'answer';
