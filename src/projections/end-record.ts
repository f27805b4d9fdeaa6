import { join } from 'node:path';
import { readLoopOf } from '../home/read-loop.ts';
import { hideKeys } from '../loop/secrets.ts';
import { isInSession, type Spec } from '../home/spec.ts';
import { loopsFolder } from '../home/home.ts';
import { assumptions, type Assumption } from '../loop/charge.ts';
import { type ChildReport, loopName } from '../loop/child-report.ts';
import type { ChangedEvidence, ChildLoss, FamilyCount, Tokens } from '../loop/event.ts';
import type { StrayProcess } from '../loop/receipt.ts';
import { isWatching } from '../loop/evidence.ts';
import { failureText } from '../loop/failure.ts';
import { explain, restOf, stopReason, type Outcome } from '../loop/outcome.ts';
import type { LimitChange } from '../loop/limit-changes.ts';
import type { PlanReport } from '../loop/plan.ts';
import type { LoopReport } from '../loop/report.ts';
import { knownTokens } from '../loop/spend-text.ts';
import type { LoopState } from '../loop/state.ts';
import { cut } from '../loop/excerpt.ts';
import { timeOfDay } from '../text/times.ts';

/** The final report of a loop, or where it stands: shown as text, in `state.json` and with `--json`. */
export interface EndRecord {
  readonly name: string;
  /** Null if the loop has not ended: it is paused, or no process owns it. */
  readonly outcome: Outcome | null;
  readonly status: Outcome['type'] | 'paused' | 'unfinished';
  readonly reason: string;
  /** Document 002's stop reason, or the type of the outcome; absent in a preset that does not show it. */
  readonly stop_reason?: string;
  readonly exitCode: number;
  readonly iterations: number;
  readonly iterationLimit: number | null;
  readonly runs: number;
  readonly failures: number;
  readonly usageLimits: number;
  /** Runs that failed because the provider was unavailable. */
  readonly outages: number;
  /** The checks that failed when they were last run. */
  readonly failingChecks: readonly {
    readonly command: string;
    /** Null if Ralph ended it or its exit code is unknown. */
    readonly exit: number | null;
    readonly timedOut: boolean;
    /** It printed more than it may; absent otherwise. */
    readonly flooded?: true;
    readonly log: string;
    /** Whether it failed before the first iteration too; null if it was not run then. */
    readonly failedBefore: boolean | null;
  }[];
  /** The checks that failed before the first iteration and passed when they were last run. */
  readonly fixedChecks: readonly string[];
  readonly rejectedClaims: number;
  /** Those of them that a changed protected file rejected. */
  readonly protectedClaims: number;
  /** The files that the verdict rests on, compared with the loop's start. */
  readonly evidence: EvidenceRecord;
  /** What the last look at the plan found; null without a plan. */
  readonly plan: PlanReport | null;
  /** Limits that were changed while the loop ran. */
  readonly limitChanges: readonly LimitChange[];
  /** Every check passed after the last iteration, but a limit or a lack of progress ended the loop without a claim. */
  readonly unclaimed: boolean;
  readonly commits: number;
  readonly lastCommit: string | null;
  /** The branch that the loop started on, if it commits; null if that is unknown. */
  readonly startBranch: string | null;
  /** The last few branches that it has committed on, the last one last; null stands for a detached HEAD. */
  readonly branches: readonly (string | null)[];
  /** Why the last commit or one of its tasks failed; null if it did not. */
  readonly commitError: string | null;
  /** Null if they are unknown. */
  readonly tokens: Tokens | null;
  /** Null if it is unknown. */
  readonly costUsd: number | null;
  readonly costSource: 'reported' | 'estimated' | null;
  /** Runs whose cost is unknown. */
  readonly runsOfUnknownCost: number;
  /** Runs whose tokens are unknown. */
  readonly runsOfUnknownTokens: number;
  /** Runs whose output tokens are partly estimated from the text. */
  readonly runsOfEstimatedOutput: number;
  /** What counts towards the cost limit in dollars, if some of it is assumed; null otherwise. */
  readonly chargedCost: Assumption | null;
  /** What counts towards the token limit, if some of it is assumed; null otherwise. */
  readonly chargedTokens: Assumption | null;
  /** What child loops and theirs have spent, which is in none of the sums above, and how many have. */
  readonly spentByChildren: FamilyCount['below'];
  readonly durationMs: number;
  readonly activeMs: number;
  /** The child loops in the order in which they started: all that are active, and the last that have ended. */
  readonly children: readonly ChildRecord[];
  readonly childrenStarted: number;
  readonly childrenLeft: readonly string[];
  /** Processes that the agent may have left running. */
  readonly strays: readonly StrayProcess[];
  /** The workspace folder: what people and agents read, relative to the workspace. */
  readonly folder: string;
  /** The state: the journal and the complete logs. */
  readonly state: string;
  /** The worktree and its branch; null if the loop worked in the workspace. */
  readonly worktree: { readonly path: string; readonly branch: string } | null;
  /** The command that resumes the loop; null if it is done or only its session can continue it. */
  readonly next: string | null;
}

export interface ChildRecord {
  readonly id: string;
  readonly name: string;
  /** The run or the check that started it; null if that is unknown. */
  readonly run: string | null;
  /** Its outcome, `active`, or `crashed` or `removed` where it has none; `ended` for a child that another program registered. */
  readonly status: Outcome['type'] | ChildLoss | 'active' | 'ended';
}

export interface EvidenceRecord {
  /** False outside of git, in and in a loop without checks, protected files and a prompt file. */
  readonly watched: boolean;
  /** The first few files that differed when they were last compared: the prompt file, then protected ones. */
  readonly changed: readonly ChangedEvidence[];
  readonly more: number;
  /** Why they could not be compared; null if they were. */
  readonly problem: string | null;
  /** Protected files that the agent changed and Ralph put back. */
  readonly restored: readonly string[];
  readonly moreRestored: number;
}

export function endRecord(state: LoopState, report: LoopReport, spec: Spec): EndRecord {
  const { outcome, policy, spent } = state;
  const charged = assumptions(state);
  const status = outcome?.type ?? (state.control.paused ? 'paused' : 'unfinished');
  return {
    name: spec.name,
    outcome,
    status,
    reason: reason(state),
    ...(policy.wording.showStopReason && outcome !== null
      ? { stop_reason: stopReason(outcome) ?? outcome.type }
      : {}),
    exitCode:
      policy.exitCodes[outcome === null ? (status === 'paused' ? 'paused' : 'fatal') : restOf(outcome)],
    iterations: state.iteration,
    iterationLimit: policy.limits.iterations,
    runs: report.runs,
    failures: state.failures.total,
    usageLimits: report.usageLimits,
    outages: report.outages,
    failingChecks: failingChecks(report),
    fixedChecks: report.checks
      .filter(({ result }, index) => result.code === 0 && failedBefore(report, index) === true)
      .map(({ command }) => hideKeys(command)),
    rejectedClaims: report.rejectedClaims,
    protectedClaims: report.protectedClaims,
    evidence: evidenceRecord(state, report),
    plan: report.plan,
    limitChanges: report.limitChanges,
    unclaimed: isUnclaimed(state, report),
    commits: report.commits,
    lastCommit: report.lastCommit,
    startBranch: report.startBranch,
    branches: report.branches,
    commitError: report.commitError,
    tokens: knownTokens(spent),
    costUsd: spent.source === null ? null : spent.usd,
    costSource: spent.source,
    runsOfUnknownCost: spent.unknownRuns,
    runsOfUnknownTokens: spent.unknownTokenRuns,
    runsOfEstimatedOutput: spent.estimatedOutputRuns,
    chargedCost: charged.usd,
    chargedTokens: charged.tokens,
    spentByChildren: state.family.below,
    durationMs: state.now - (report.startedAt ?? state.now),
    activeMs: state.activeMs,
    children: report.children.map(childRecord),
    childrenStarted: report.childrenStarted,
    childrenLeft: (outcome?.type === 'done' ? outcome.childrenLeft : state.children).map(loopName),
    strays: report.strays,
    folder: `.ralph/loops/${spec.name}`,
    state: join(loopsFolder(), spec.id),
    worktree: spec.worktree === undefined ? null : { path: spec.worktree.path, branch: spec.worktree.branch },
    // Only its session continues a loop that lives in one.
    next: outcome?.type === 'done' || isInSession(spec) ? null : nextOf(state, spec.name),
  };
}

function childRecord({ child, run, endedAt, outcome, lost }: ChildReport): ChildRecord {
  const status = endedAt === null ? 'active' : (outcome?.type ?? lost ?? 'ended');
  return { id: child, name: loopName(child), run, status };
}

function evidenceRecord(
  { start, policy }: LoopState,
  { evidence, restored, moreRestored }: LoopReport,
): EvidenceRecord {
  return {
    watched: isWatching({ start, policy }),
    changed: evidence?.changed ?? [],
    more: evidence?.more ?? 0,
    problem: evidence?.problem ?? null,
    restored,
    moreRestored,
  };
}

function failingChecks(report: LoopReport): EndRecord['failingChecks'] {
  return report.checks.flatMap(({ command, result: { code, timedOut, flooded, log } }, index) =>
    code === 0
      ? []
      : [
          {
            command: hideKeys(command),
            exit: code,
            timedOut,
            ...(flooded === true ? { flooded } : {}),
            log,
            failedBefore: failedBefore(report, index),
          },
        ],
  );
}

function isUnclaimed(
  { outcome, policy, failures }: LoopState,
  { checks, iterations, lastRejection }: LoopReport,
): boolean {
  const isEndedByLimit = outcome?.type === 'iterations-exhausted' || outcome?.type === 'stuck';
  if (!isEndedByLimit || policy.completion.until === 'checks') return false;
  // After a failed run the results may be those of an earlier run.
  if (checks.length === 0 || failures.consecutive > 0) return false;
  // The agent did claim, but it had changed protected files.
  if (lastRejection !== null && lastRejection.iteration === iterations.at(-1)?.iteration) return false;
  return checks.length === policy.checks.commands.length && checks.every(({ result }) => result.code === 0);
}

function failedBefore({ baseline, checks }: LoopReport, index: number): boolean | null {
  const before = baseline[index];
  // The settings changed, so this check was not run before.
  if (before === undefined || before.command !== checks[index]?.command) return null;
  return before.result.code !== 0;
}

function reason(state: LoopState): string {
  const { outcome, policy, control } = state;
  if (outcome !== null)
    return `${explain(outcome, policy, (at) => timeOfDay(at, Date.now()))}${lastFailure(state)}`;
  return control.paused ? 'paused until it is resumed' : 'not finished, and no process runs it';
}

/** The last failure of a loop that failures ended: their number alone does not say what to fix. */
function lastFailure({ outcome, turn: { run } }: LoopState): string {
  if (outcome?.type !== 'failures-exhausted' || run === null || run.ended === null) return '';
  if (outcome.unanswered === true) return '';
  const [why = ''] = (failureText(run.ended.ending, run.ended.as) ?? '').split('\n', 1);
  return why === '' ? '' : `; the last: ${cut(why, MAX_REASON_LENGTH)}`;
}

const MAX_REASON_LENGTH = 300;

/** The command that continues a loop; a limit of a loop above is raised there first, unless that one is done or gone. */
function nextOf(state: LoopState, name: string): string | null {
  const { outcome } = state;
  const family = outcome !== null && 'family' in outcome ? outcome.family : undefined;
  const raised = outcome === null ? null : raisedLimit(outcome, state);
  const resume = `ralph resume ${name}`;
  if (family === undefined) return raised === null ? resume : `${resume} ${raised.option} ${raised.value}`;
  const upper = readLoopOf(family.id);
  if (upper === null || upper.trouble !== null || upper.state.outcome?.type === 'done') return null;
  if (raised === null) return resume;
  const { option, value } = raised;
  const raise =
    upper.state.outcome === null
      ? `ralph set ${upper.spec.name} ${option.replace('--', '')}=${value}`
      : `ralph resume ${upper.spec.name} --detach ${option} ${value}`;
  return `${raise} && ${resume}`;
}

/** A loop that hit a limit can only be resumed with a higher one; null if no limit ended it, or none was exceeded. */
function raisedLimit(
  outcome: Outcome,
  { iteration, policy, activeMs, now }: LoopState,
): { readonly option: string; readonly value: string | number } | null {
  switch (outcome.type) {
    case 'iterations-exhausted':
      return { option: '-m', value: iteration + Math.max(1, policy.limits.iterations ?? 10) };
    case 'time-exhausted': {
      // The wait for a usage limit counts as active time.
      const resetsAt = outcome.resetsAt ?? null;
      const untilReset = resetsAt === null ? outcome.limitMs : activeMs + resetsAt - now;
      return { option: '--max-time', value: `${Math.ceil((untilReset + outcome.limitMs) / 1000)}s` };
    }
    case 'cost-exhausted':
      if (outcome.spentUsd === null) return null;
      return {
        option: '--max-cost',
        value: Math.ceil(Math.max(outcome.limitUsd, outcome.spentUsd) * 200) / 100,
      };
    case 'tokens-exhausted':
      if (outcome.spent === null) return null;
      return { option: '--max-tokens', value: Math.max(outcome.limit, outcome.spent) * 2 };
    case 'done':
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
