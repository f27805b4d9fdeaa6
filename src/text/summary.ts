import { howItFailed } from '../loop/exit-code.ts';
import type { EndRecord } from '../projections/end-record.ts';
import type { LoopFacts } from '../loops/facts.ts';
import type { WorktreeSummary } from '../loops/worktrees.ts';
import { isLoopId } from '../loop/child-report.ts';
import { counted, duration } from '../loop/counted.ts';
import { mergeByHand } from '../loop/shell-quote.ts';
import { NOTHING_SPENT } from '../loop/limits.ts';
import { costOf, tokensOf } from '../loop/spend-text.ts';
import { evidenceRows } from './evidence.ts';
import { limitChangeText } from './limits.ts';
import { wrap } from './columns.ts';
import { commitRows } from './commits.ts';
import { lookFirst } from './look-first.ts';
import {
  changeRows,
  checkCountRows,
  questionRows,
  rejectionRows,
  sinceRows,
  spendRows,
  waitRows,
  type Row,
} from './night-rows.ts';
import { brief, homely, visible } from './one-line.ts';
import { onScreen, type Block } from './one-screen.ts';
import { planRows } from './plan.ts';

interface Beside {
  /** The home folder of the reader. */
  readonly home: string | undefined;
  /** The columns that a line may have. */
  readonly width: number;
  /** The lines of the screen, which has the name of the loop and the prompt of the shell too. */
  readonly height: number;
  /** The report of a temporary loop names nothing to look at later. */
  readonly isTemporary?: boolean | undefined;
  /** Puts the typed name of Ralph into the rows that advise commands. */
  readonly advise?: (text: string) => string;
}

/** The report of a loop below its name: at the end of the loop, and whenever a person asks for it. */
export function summary(facts: LoopFacts, { width, height, advise, ...beside }: Beside): readonly string[] {
  const blocks: Block[] = [];
  for (const [label, told] of summaryRows(facts, beside)) {
    const text = advise === undefined || OF_PEOPLE.has(label) ? told : advise(told);
    const lines = text.split('\n').flatMap((line) => laidOut(label, line, width - INDENT.length));
    const above = label === '' || label === blocks.at(-1)?.label ? blocks.pop() : undefined;
    const [first = '', ...others] = lines.map((line, index) => indented(index === 0 ? label : '', line));
    blocks.push({ label: above?.label ?? label, lines: [...(above?.lines ?? []), first, ...others] });
  }
  const all = blocks.flatMap(({ lines }) => lines);
  const others = isError(facts.end) ? 3 : 2;
  const shown = onScreen(blocks, Math.max(LEAST_HEIGHT, height) - others).flatMap(({ lines }) => lines);
  // The story has what is left out.
  return shown.length === all.length ? all : shown.map((line) => line.replace(/^  story/, '  more '));
}

/** What people and agents have written. */
const OF_PEOPLE: ReadonlySet<string> = new Set(['task', 'questions', 'failing', 'fixed', 'rejected', 'plan']);

/** On a smaller screen, a person scrolls. */
const LEAST_HEIGHT = 24;

function indented(label: string, line: string): string {
  return `  ${label.padEnd(11)} ${line}`;
}

const INDENT = ' '.repeat('  label       '.length);

/** A path or a command stays in one piece, so that a person can copy it. */
function laidOut(label: string, text: string, width: number): readonly string[] {
  return TO_COPY.has(label) || width === Infinity ? [text] : wrap(text, width);
}

const TO_COPY: ReadonlySet<string> = new Set([
  'details',
  'logs',
  'story',
  'follow',
  'resume',
  'merge',
  'worktree',
]);

/** Why the loop stopped, what is left to do, what it did and what that cost, and how to continue. */
export function summaryRows(
  facts: LoopFacts,
  { home, isTemporary = false }: Omit<Beside, 'width' | 'height' | 'advise'>,
): readonly Row[] {
  const { end, task, work } = facts;
  const first = isTemporary ? [] : lookFirst(facts);
  return [
    ...(task === null ? [] : [['task', visible(task)] as const]),
    ...(isError(end) ? [] : [['result', end.reason] as const]),
    ...first.map((text, index): Row => [index === 0 ? 'look first' : '', text]),
    ...(end.stop_reason === undefined ? [] : [['stop_reason', end.stop_reason] as const]),
    ['iterations', iterations(end)],
    ...sinceRows(facts),
    ...end.limitChanges.map((change): Row => ['limit', limitChangeText(change)]),
    ...checkCountRows(facts),
    ...checkRows(facts),
    ...planRows(end),
    ...evidenceRows(end),
    ...changeRows(facts),
    ...commitRows(end),
    ...childRows(end),
    ...leftoverRows(end),
    ...questionRows(facts),
    ...waitRows(facts),
    ...worktreeRows(end, work),
    ['cost', cost(end)],
    ...spendRows(facts),
    ['time', time(end)],
    ...(isTemporary ? [] : placeRows(facts, home)),
  ];
}

/** Where to look for more, and how to continue. */
function placeRows({ end, status }: LoopFacts, home: string | undefined): readonly Row[] {
  return [
    ['details', end.folder],
    ['logs', homely(end.state, home)],
    ['story', `ralph story ${end.name}`],
    ...(status === 'running' ? [['follow', `ralph logs ${end.name} -f`] as const] : []),
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

function checkRows(facts: LoopFacts): readonly Row[] {
  const { failingChecks, fixedChecks, rejectedClaims, protectedClaims, unclaimed } = facts.end;
  return [
    ...failingChecks.map(({ command, exit, timedOut, flooded = false, log, failedBefore }): Row => {
      const how = `${howItFailed({ code: exit, timedOut, flooded })}${BEFORE.get(failedBefore) ?? ''}`;
      return ['failing', `${brief(command)} (${how}) — ${log}`];
    }),
    ...fixedChecks.map((command): Row => ['fixed', `${brief(command)} (failed before the loop)`]),
    ...(rejectedClaims === 0
      ? []
      : [['rejected', claims(rejectedClaims, protectedClaims)] as const, ...rejectionRows(facts)]),
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
