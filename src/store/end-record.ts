import { relative } from 'node:path';
import { LoopFolder } from './store.ts';
import { type Spec } from './spec.ts';
import { hideKeys } from './secrets.ts';
import type { StrayProcess, Tokens } from '../loop/event.ts';
import { failureText } from '../loop/failure.ts';
import { explain, type Outcome } from '../loop/outcome.ts';
import type { LoopReport } from '../loop/report.ts';
import type { LoopState } from '../loop/state.ts';
import { cut } from '../loop/excerpt.ts';

/** The one honest record of where a loop stands: in text, in `state.json` and with `--json`. */
export interface EndRecord {
  readonly name: string;
  /** Null while it has not ended: it is paused, or nobody drives it. */
  readonly outcome: Outcome | null;
  readonly status: Outcome['type'] | 'paused' | 'unfinished';
  readonly reason: string;
  readonly exitCode: number;
  readonly iterations: number;
  readonly iterationLimit: number | null;
  readonly runs: number;
  readonly failures: number;
  readonly usageLimits: number;
  /** Times that the provider did not serve the agent. */
  readonly outages: number;
  /** The checks that failed when they were last run. */
  readonly failingChecks: readonly {
    readonly command: string;
    /** Null where nobody saw it, and when it took too long. */
    readonly exit: number | null;
    readonly timedOut: boolean;
    readonly log: string;
    /** Whether it failed before the first iteration too; null where nobody looked. */
    readonly failedBefore: boolean | null;
  }[];
  /** The checks that failed before the first iteration and passed when they were last run. */
  readonly fixedChecks: readonly string[];
  readonly rejectedClaims: number;
  /** Every check passed after the last iteration that was allowed, and nobody claimed to be done. */
  readonly unclaimed: boolean;
  readonly commits: number;
  readonly lastCommit: string | null;
  /** What went wrong with the last commit or one of its tasks; null if nothing did. */
  readonly commitError: string | null;
  readonly tokens: Tokens;
  readonly costUsd: number | null;
  readonly costSource: 'reported' | 'estimated' | null;
  /** Runs that did not say what they cost. */
  readonly runsOfUnknownCost: number;
  readonly durationMs: number;
  readonly activeMs: number;
  readonly childrenLeft: readonly string[];
  /** Processes that may have got away from the agent. */
  readonly strays: readonly StrayProcess[];
  readonly folder: string;
  /** Where the work is, and the branch that it is on; null where it was done in the workspace. */
  readonly worktree: { readonly path: string; readonly branch: string } | null;
  /** The command to go on; null where there is nothing left to do. */
  readonly next: string | null;
}

export function endRecord(state: LoopState, report: LoopReport, spec: Spec): EndRecord {
  const { outcome, policy, spent } = state;
  const status = outcome?.type ?? (state.control.paused ? 'paused' : 'unfinished');
  return {
    name: spec.name,
    outcome,
    status,
    reason: reason(state),
    exitCode: policy.exitCodes[status === 'unfinished' ? 'fatal' : status],
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
    unclaimed: isUnclaimed(state, report),
    commits: report.commits,
    lastCommit: report.lastCommit,
    commitError: report.commitError,
    tokens: spent.tokens,
    costUsd: spent.source === null ? null : spent.usd,
    costSource: spent.source,
    runsOfUnknownCost: spent.unknownRuns,
    durationMs: state.now - (report.startedAt ?? state.now),
    activeMs: state.activeMs,
    childrenLeft: (outcome?.type === 'done' ? outcome.childrenLeft : state.children).map(loopName),
    strays: report.strays,
    folder: `.ralph/loops/${spec.name}`,
    worktree: spec.worktree === undefined ? null : { path: spec.worktree.path, branch: spec.worktree.branch },
    next: outcome?.type === 'done' ? null : nextCommand(state, spec.name),
  };
}

function failingChecks(report: LoopReport): EndRecord['failingChecks'] {
  return report.checks.flatMap(({ command, result: { code, timedOut, log } }, index) =>
    code === 0
      ? []
      : [
          {
            command: hideKeys(command),
            exit: code,
            timedOut,
            log,
            failedBefore: failedBefore(report, index),
          },
        ],
  );
}

function isUnclaimed({ outcome, policy, failures }: LoopState, { checks }: LoopReport): boolean {
  if (outcome?.type !== 'iterations-exhausted' || policy.completion.until === 'checks') return false;
  // After a run that failed there may be only the results of an earlier one.
  if (checks.length === 0 || failures.consecutive > 0) return false;
  return checks.length === policy.checks.commands.length && checks.every(({ result }) => result.code === 0);
}

function failedBefore({ baseline, checks }: LoopReport, index: number): boolean | null {
  const before = baseline[index];
  // Other checks than those that were run before, since the settings were changed.
  if (before === undefined || before.command !== checks[index]?.command) return null;
  return before.result.code !== 0;
}

/** How a check failed, in a few words. */
export function howItFailed(exit: number | null, timedOut: boolean): string {
  if (timedOut) return 'Timeout';
  const why = exit === null ? undefined : SHELL_CODES.get(exit);
  return `exit ${exit ?? 'unknown'}${why === undefined ? '' : `: ${why}`}`;
}

/** What a shell exits with where it is not the command that has failed. */
const SHELL_CODES: ReadonlyMap<number, string> = new Map([
  [126, 'not executable'],
  [127, 'command not found'],
]);

/** The raw output of a run, as people find it from the workspace. */
export function logOf(name: string, run: string): string {
  return `.ralph/loops/${name}/${relative('/', new LoopFolder('/').run(run))}/stdout.log`;
}

/** A loop by the name that people know it by: its id without what makes it unique. */
export function loopName(id: string): string {
  return id.replace(/-[0-9a-f]{8}$/, '');
}

function reason(state: LoopState): string {
  const { outcome, policy, control } = state;
  if (outcome !== null) return `${explain(outcome, policy)}${lastFailure(state)}`;
  return control.paused ? 'paused until somebody says resume' : 'nobody drives it any more';
}

/** What went wrong at last, where failures are what ended it: their number alone helps nobody. */
function lastFailure({ outcome, turn: { run } }: LoopState): string {
  if (outcome?.type !== 'failures-exhausted' || run === null || run.ended === null) return '';
  const [why = ''] = (failureText(run.ended.ending, run.ended.as) ?? '').split('\n', 1);
  return why === '' ? '' : `; the last: ${cut(why, LONGEST_REASON)}`;
}

const LONGEST_REASON = 300;

/** A loop that has used something up needs more of it to go on. */
function nextCommand({ outcome, iteration, policy }: LoopState, name: string): string {
  switch (outcome?.type) {
    case 'iterations-exhausted':
      return `ralph resume ${name} -m ${iteration + Math.max(1, policy.limits.iterations ?? 10)}`;
    case 'time-exhausted':
      return `ralph resume ${name} --max-time ${Math.ceil((outcome.limitMs * 2) / 1000)}s`;
    case 'cost-exhausted':
      return `ralph resume ${name} --max-cost ${Math.ceil(Math.max(outcome.limitUsd, outcome.spentUsd) * 200) / 100}`;
    case 'tokens-exhausted':
      return `ralph resume ${name} --max-tokens ${Math.max(outcome.limit, outcome.spent) * 2}`;
    case 'done':
    case 'waiting':
    case 'failures-exhausted':
    case 'stuck':
    case 'prompt-lost':
    case 'bad-input':
    case 'fatal':
    case 'stopped':
    case undefined:
      return `ralph resume ${name}`;
  }
}
