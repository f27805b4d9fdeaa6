import { howItFailed } from '../loop/exit-code.ts';
import type { EndRecord } from '../store/end-record.ts';
import type { WorktreeSummary } from '../loops/worktrees.ts';
import { isLoopId } from '../loop/child-report.ts';
import { counted, duration } from '../loop/counted.ts';
import { mergeByHand } from '../loop/shell-quote.ts';
import { NOTHING_SPENT } from '../loop/limits.ts';
import { costOf, tokensOf } from '../loop/spend-text.ts';
import { evidenceRows } from './evidence.ts';
import { limitChangeText } from './limits.ts';
import { commitRows } from './commits.ts';
import { brief, homely } from './one-line.ts';
import { planRows } from './plan.ts';

/** A label and its text. */
type Row = readonly [string, string];

interface Beside {
  /** The work that exists only in the loop's worktree; null if that is unknown. */
  readonly work: WorktreeSummary['work'] | null;
  /** The home folder of the reader. */
  readonly home: string | undefined;
  /** The report of a temporary loop names nothing to look at later. */
  readonly isTemporary?: boolean | undefined;
}

/** The final report of a loop: why it stopped, what is left to do, what it cost, and how to resume it. */
export function summary(end: EndRecord, { work, home, isTemporary = false }: Beside): readonly string[] {
  const rows: readonly Row[] = [
    ...(isError(end) ? [] : [['result', end.reason] as const]),
    ...(end.stop_reason === undefined ? [] : [['stop_reason', end.stop_reason] as const]),
    ['iterations', iterations(end)],
    ...end.limitChanges.map((change): Row => ['limit', limitChangeText(change)]),
    ...checkRows(end),
    ...planRows(end),
    ...evidenceRows(end),
    ...commitRows(end),
    ...childRows(end),
    ...leftoverRows(end),
    ...worktreeRows(end, work),
    ['cost', cost(end)],
    ['time', time(end)],
    ...(isTemporary ? [] : placeRows(end, home)),
  ];
  return rows.map(([label, text]) => `  ${label.padEnd(11)} ${text}`);
}

/** Where to look for more, and how to continue. */
function placeRows(end: EndRecord, home: string | undefined): readonly Row[] {
  return [
    ['details', end.folder],
    ['logs', homely(end.state, home)],
    ['story', `ralph story ${end.name}`],
    ...(end.next === null ? [] : [['resume', end.next] as const]),
  ];
}

/** Whether the reason is printed as an error, so that it can be searched for as one. */
export function isError({ status }: EndRecord): boolean {
  return status === 'prompt-lost' || status === 'bad-input' || status === 'fatal';
}

function iterations(end: EndRecord): string {
  const counts = [
    end.runs === end.iterations ? null : counted(end.runs, 'run'),
    end.failures === 0 ? null : `${end.failures} failed`,
    end.usageLimits === 0 ? null : counted(end.usageLimits, 'usage limit'),
    end.outages === 0 ? null : counted(end.outages, 'provider outage'),
  ].filter((part) => part !== null);
  const limit = end.iterationLimit === null ? '' : ` of ${end.iterationLimit}`;
  return `${end.iterations}${limit}${counts.length === 0 ? '' : ` (${counts.join(', ')})`}`;
}

function checkRows({
  failingChecks,
  fixedChecks,
  rejectedClaims,
  protectedClaims,
  unclaimed,
}: EndRecord): readonly Row[] {
  return [
    ...failingChecks.map(({ command, exit, timedOut, flooded = false, log, failedBefore }): Row => {
      const how = `${howItFailed({ code: exit, timedOut, flooded })}${BEFORE.get(failedBefore) ?? ''}`;
      return ['failing', `${brief(command)} (${how}) — ${log}`];
    }),
    ...fixedChecks.map((command): Row => ['fixed', `${brief(command)} (failed before the loop)`]),
    ...(rejectedClaims === 0 ? [] : [['rejected', claims(rejectedClaims, protectedClaims)] as const]),
    ...(unclaimed ? [['note', UNCLAIMED] as const] : []),
  ];
}

/** Whether a failing check failed before the first iteration too. */
const BEFORE: ReadonlyMap<boolean | null, string> = new Map([
  [true, ', failed before the loop'],
  [false, ', broken by the loop'],
]);

function claims(count: number, ofProtected: number): string {
  const byChecks = `contradicted by ${count - ofProtected === 1 ? 'a check' : 'checks'}`;
  const byFiles = 'because of changed protected files';
  const why = ofProtected === 0 ? byChecks : ofProtected === count ? byFiles : `${byChecks} or ${byFiles}`;
  return `${counted(count, 'claim')} to be done, ${why}`;
}

const UNCLAIMED =
  'every check passed, but the agent did not claim in the required form that it is done; with --until checks it does not have to';

function childRows({ children, childrenStarted }: EndRecord): readonly Row[] {
  if (childrenStarted === 0) return [];
  const shown = children.map(({ name, status }) => `${name} (${status})`);
  const earlier = childrenStarted - children.length;
  return [['children', [...(earlier > 0 ? [`${earlier} earlier`] : []), ...shown].join(', ')]];
}

function leftoverRows({ children, childrenLeft, strays }: EndRecord): readonly Row[] {
  const recorded = new Set(children.filter(({ id }) => !isLoopId(id)).map(({ name }) => name));
  return [
    ...childrenLeft.map((child): Row => [
      'left',
      recorded.has(child)
        ? `run ${child}, recorded by another program, is still running`
        : `loop ${child}, started by the agent, is still running; stop it with: ralph stop ${child} --now`,
    ]),
    ...strays.map(({ pid, command }): Row => [
      'left',
      `process ${pid} (${command}) may have been left behind by the agent`,
    ]),
  ];
}

/** The worktree, and how to merge it. */
function worktreeRows(
  { worktree, name, status, commitError }: EndRecord,
  work: WorktreeSummary['work'] | null,
): readonly Row[] {
  if (worktree === null) return [];
  const { path, branch } = worktree;
  const isDone = status === 'done';
  const byHand = isDone && commitError === null ? `, or: ${mergeByHand(branch)}` : '';
  return [
    ['worktree', `${path} (branch ${branch})`],
    ...(isDone || work?.changes === 0 ? [] : [['', 'uncommitted changes stay there'] as const]),
    ...(isDone || (work?.commits ?? 0) > 0
      ? [['merge', `ralph worktree merge ${name}${byHand}`] as const]
      : []),
  ];
}

function cost(end: EndRecord): string {
  const { costUsd, costSource, runsOfUnknownCost } = end;
  const spend = { usd: costUsd ?? 0, source: costSource, unknownRuns: runsOfUnknownCost };
  const tokens = end.tokens ?? NOTHING_SPENT.tokens;
  const runs = {
    unknownTokenRuns: end.runsOfUnknownTokens,
    estimatedOutputRuns: end.runsOfEstimatedOutput,
  };
  const known = tokensOf({ tokens, ...runs }, end.chargedTokens, end.spentByChildren);
  const why = known === null ? 'no run reported it' : 'no price is known for this model';
  return [
    costUsd === null && end.spentByChildren.usd === 0
      ? `unknown: ${why}`
      : costOf(spend, end.chargedCost, end.spentByChildren),
    ...(known === null ? [] : [`tokens: ${known}`]),
  ].join(', ');
}

function time({ durationMs, activeMs }: EndRecord): string {
  const active = durationMs - activeMs > 1000 ? ` (${duration(activeMs, ' ')} active)` : '';
  return `${duration(durationMs, ' ')}${active}`;
}
