import { howItFailed } from '../store/how-it-failed.ts';
import type { EndRecord } from '../store/end-record.ts';
import { duration } from '../journal/times.ts';
import type { WorktreeSummary } from '../views/worktrees.ts';
import { brief } from './lines.ts';
import { tokensText } from './tokens.ts';

/**
 * The end of a loop in a few lines: why it stopped, what is left, what it cost, and how to go on. `work` is what is in
 * its worktree and nowhere else, where that is known.
 */
export function summary(end: EndRecord, work: WorktreeSummary['work'] | null): readonly string[] {
  const { failingChecks, rejectedClaims, iterations, iterationLimit } = end;
  const counts = [
    end.runs === iterations ? null : `${end.runs} runs`,
    end.failures === 0 ? null : `${end.failures} failed`,
    end.usageLimits === 0 ? null : `${end.usageLimits} usage limit${end.usageLimits === 1 ? '' : 's'}`,
    end.outages === 0 ? null : `${end.outages} without an answer`,
  ].filter((part) => part !== null);
  const rows: [string, string][] = [
    ...(isError(end) ? [] : [['result', end.reason] satisfies [string, string]]),
    [
      'iterations',
      `${iterations}${iterationLimit === null ? '' : ` of ${iterationLimit}`}${counts.length === 0 ? '' : ` (${counts.join(', ')})`}`,
    ],
    ...failingChecks.map(({ command, exit, timedOut, log, failedBefore }): [string, string] => [
      'failing',
      `${brief(command)} (${howItFailed(exit, timedOut)}${WHOSE.get(failedBefore) ?? ''}) — ${log}`,
    ]),
    ...end.fixedChecks.map((command): [string, string] => ['fixed', `${brief(command)} (red before)`]),
    ...(rejectedClaims === 0 ? [] : [['rejected', claims(rejectedClaims)] satisfies [string, string]]),
    ...(end.unclaimed ? [['note', UNCLAIMED] satisfies [string, string]] : []),
    ...(end.commits === 0 ? [] : [['commits', commits(end)] satisfies [string, string]]),
    ...(end.commitError === null ? [] : [notCommitted(end.commitError)]),
    ...end.childrenLeft.map((child): [string, string] => [
      'left',
      `the loop ${child}, started by the agent, is still at work; ralph stop ${child} --now ends it`,
    ]),
    ...end.strays.map(({ pid, command }): [string, string] => [
      'left',
      `process ${pid} (${command}) may have been left behind by the agent`,
    ]),
    ...worktree(end, work),
    ['cost', cost(end)],
    [
      'time',
      `${duration(end.durationMs, ' ')}${end.durationMs - end.activeMs > 1000 ? ` (${duration(end.activeMs, ' ')} at work)` : ''}`,
    ],
    ['details', end.folder],
    ...(end.next === null ? [] : [['go on with', end.next] satisfies [string, string]]),
  ];
  return rows.map(([label, text]) => `  ${label.padEnd(11)} ${text}`);
}

/** Whether the reason is told like any other error, so that it can be found as one. */
export function isError({ status }: EndRecord): boolean {
  return status === 'prompt-lost' || status === 'bad-input' || status === 'fatal';
}

const UNCLAIMED =
  'every check passed, but the agent did not say that it is done; with --until checks its word is not needed';

/** Whether the loop is to blame. */
const WHOSE: ReadonlyMap<boolean | null, string> = new Map([
  [true, ', red before'],
  [false, ', broken by the loop'],
]);

function claims(count: number): string {
  return count === 1
    ? '1 claim to be done, contradicted by a check'
    : `${count} claims to be done, contradicted by checks`;
}

function commits({ commits: count, lastCommit }: EndRecord): string {
  return lastCommit === null ? `${count}` : `${count} (last ${lastCommit.slice(0, 7)})`;
}

/** Where the work is, and what to do with it. */
function worktree(
  { worktree: tree, name, status, commitError }: EndRecord,
  work: WorktreeSummary['work'] | null,
): readonly [string, string][] {
  if (tree === null) return [];
  const { path, branch } = tree;
  const isDone = status === 'done';
  const byHand = isDone && commitError === null ? `, or: git merge ${branch}` : '';
  return [
    ['worktree', `${path} (branch ${branch})`],
    ...(isDone || work?.changes === 0 ? [] : [STAYS]),
    ...(isDone || (work?.commits ?? 0) > 0
      ? [['merge with', `ralph worktree merge ${name}${byHand}`] satisfies [string, string]]
      : []),
  ];
}

const STAYS: [string, string] = ['', 'what is not committed stays there as it is'];

/** A commit that was made and not pushed is one all the same. */
function notCommitted(error: string): [string, string] {
  const isMade = /^SCM task "(?!commit")|^[0-9a-f]{7} is made/.test(error);
  return [isMade ? 'SCM error' : 'uncommitted', error];
}

function cost({ costUsd, costSource, runsOfUnknownCost, runs, tokens }: EndRecord): string {
  const known = tokensText(tokens);
  const counted = known === null ? '' : `, tokens: ${known}`;
  if (costUsd === null)
    return known === null
      ? 'unknown: the agent does not say'
      : `unknown: nobody says what its model costs${counted}`;
  const gap =
    runsOfUnknownCost === 0 ? '' : `, without ${runsOfUnknownCost} of ${runs} runs that did not say`;
  return `$${costUsd.toFixed(4)} ${costSource ?? ''}${gap}${counted}`;
}
