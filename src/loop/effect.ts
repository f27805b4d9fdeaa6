import type { Phase } from './completion.ts';
import type { Happening, Purpose } from './event.ts';
import type { Check, CommitPolicy } from './policy.ts';
import type { PromptPlan } from './prompt.ts';

/**
 * What should be going on now. The driver starts a wanted key that is not in flight, interrupts one in flight
 * that is no longer wanted (and waits until it is gone), and asks again after every event. Every effect can be
 * interrupted at any moment and carried out again. Under one key the content may change (a moment moves, a child is
 * gone): it is still the same effect, and its last form counts.
 */
export type Effect = Wish & { readonly key: string };

type Wish =
  /** Move these marker files aside, if they are there, and write this decision into the journal. */
  | { readonly type: 'record'; readonly event: Happening; readonly moveAside: readonly string[] }
  /** Look for markers, messages and the tree's fingerprint; comes back as `probe.finished`. */
  | {
      readonly type: 'probe';
      readonly phase: Phase;
      readonly markers: readonly string[];
      readonly messages: boolean;
      readonly fingerprint: boolean;
    }
  /** Have an agent run, or find the one that runs already; comes back as `run.planned` … `run.ended`. */
  | {
      readonly type: 'run';
      readonly run: string;
      readonly purpose: Purpose;
      readonly plan: PromptPlan;
      /** The controls whose words the plan passes on. */
      readonly guidance: readonly string[];
      /** When it was planned; null before that. */
      readonly plannedAt: number | null;
      /** From `run.planned` on. */
      readonly timeoutMs: number | null;
      readonly inactivityMs: number | null;
      /** The moment at which the loop's own time is over. */
      readonly notAfter: number | null;
      readonly outputBytes: number | null;
      readonly killGraceMs: number;
      /** Whether a limit that other loops of the account have met comes first; comes back as `limit.shared`. */
      readonly respectsSharedLimit: boolean;
    }
  /** Run one check; comes back as `check.finished`. Those of iteration 0 are the baseline. */
  | {
      readonly type: 'check';
      readonly iteration: number;
      readonly run: string | null;
      readonly index: number;
      readonly check: Check;
      readonly timeoutMs: number | null;
    }
  /** See whether there is anything to commit; comes back as `changes.found`. */
  | { readonly type: 'changes'; readonly iteration: number; readonly commit: CommitPolicy }
  /** Hand the work to the version control; `commit.made`. */
  | {
      readonly type: 'commit';
      readonly iteration: number;
      readonly message: MessageSource;
      readonly commit: CommitPolicy;
    }
  /** Put the tree on record; `checkpoint.taken`. */
  | { readonly type: 'checkpoint'; readonly iteration: number }
  /** Sleep; comes back as `timer.fired`. */
  | { readonly type: 'wait'; readonly until: number; readonly why: WaitReason }
  /** Watch these child loops until they have ended or the time has come; `child.ended` or `timer.fired`. */
  | {
      readonly type: 'children';
      readonly children: readonly string[];
      readonly until: number;
      readonly pollMs: number;
    }
  /** Nothing to do until a person says `resume`. */
  | { readonly type: 'rest' };

/**
 * Where a commit's message comes from: the run that wrote it; nowhere, since the agent could not be asked (then a plain
 * one will do); or it is missing, since the agent was asked and gave none. What is committed already needs none.
 */
export type MessageSource = { readonly run: string } | 'plain' | 'missing' | 'committed';

/** What a wait is for: the provider's limit, the time after a failure, the time between iterations. */
export type WaitReason = 'usage-limit' | 'outage' | 'backoff' | 'delay';
