import { costText } from '../loop/report.ts';
import { escapeHtml } from './escape-html.ts';
import { evidenceRows } from './evidence.ts';
import { limitChangeText } from './limits.ts';
import { planRows } from './plan.ts';
import type { LoopIteration, LoopResult } from '../loops/result.ts';

/** The result of a loop as Markdown; with `folds`, the output of failed checks is folded in HTML. */
export function markdown(result: LoopResult, folds: boolean): string {
  const { iterations, success, worktreePath } = result;
  const failed = iterations.at(-1)?.checkResults.filter(({ passed }) => !passed) ?? [];
  return [
    `## Ralph loop \`${result.name}\`: ${success ? 'done' : result.stopReason}`,
    '',
    escaped(result.reason),
    '',
    ...totalsTable(result),
    '',
    ...noticeLines(result),
    ...(worktreePath === null ? [] : [`Worktree: \`${worktreePath}\``, '']),
    ...iterationsTable(iterations),
    '',
    ...failed.flatMap((check) => (folds ? foldedCheck(check) : failedCheck(check))),
  ].join('\n');
}

/** One line per iteration, as document 002 prescribes. */
export function iterationLines({ iterations }: LoopResult): readonly string[] {
  return iterations.map((one) => {
    const verdict = `[${one.allChecksPassed ? 'PASS' : 'FAIL'}]${one.completionTagFound ? ' [TAG]' : ''}`;
    return `  Iter ${one.iteration}: ${verdict} steps=${one.stepsTaken} cost=${costText(one.cost, one.costIsKnown)}`;
  });
}

/** What a reader of the result should know before believing it. */
function noticeLines({ plan, evidence, limitChanges }: LoopResult): string[] {
  const rows = [
    ...planRows({ plan }).map(([label, text]) => `${label} ${text}`),
    ...evidenceRows({ evidence }).map(([, text]) => text),
    ...limitChanges.map((change) => `limit changed: ${limitChangeText(change)}`),
  ];
  return rows.length === 0 ? [] : [...rows.map((row) => `- ${escaped(row)}`), ''];
}

function totalsTable({ totalIterations, totalCost, costIsKnown, totalDuration }: LoopResult): string[] {
  return [
    '| iterations | cost | time |',
    '| --- | --- | --- |',
    `| ${totalIterations} | ${costText(totalCost, costIsKnown)} | ${totalDuration.toFixed(1)} s |`,
  ];
}

function iterationsTable(iterations: readonly LoopIteration[]): string[] {
  return [
    '| iteration | checks | word | steps | cost | time | error |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...iterations.map(iterationRow),
  ];
}

function iterationRow(one: LoopIteration): string {
  const cells = [
    String(one.iteration),
    checksCell(one),
    one.completionTagFound ? 'yes' : 'no',
    String(one.stepsTaken),
    costText(one.cost, one.costIsKnown),
    `${one.duration.toFixed(1)} s`,
    one.error === null ? '' : escaped(one.error.split('\n', 1)[0] ?? ''),
  ];
  return `| ${cells.join(' | ')} |`;
}

function checksCell({ checkResults, allChecksPassed }: LoopIteration): string {
  const count = checkResults.length;
  const green = checkResults.filter(({ passed }) => passed).length;
  return count === 0 ? 'none' : `${allChecksPassed ? 'pass' : 'fail'} (${green}/${count})`;
}

type CheckResult = LoopIteration['checkResults'][number];

function foldedCheck({ name, output }: CheckResult): string[] {
  const summary = `<summary>failing: <code>${escapeHtml(name.replaceAll(/\s+/g, ' '))}</code></summary>`;
  return ['<details>', summary, '', fenced(output), '', '</details>', ''];
}

function failedCheck({ name, output }: CheckResult): string[] {
  return [`### Failing: ${code(name)}`, '', fenced(output), ''];
}

/** Text that Markdown shows as it is, in a table too. */
export function escaped(text: string): string {
  return text.replaceAll(/[\\`*_{}[\]<>#|]/g, String.raw`\$&`).replaceAll(/\s+/g, ' ');
}

export function code(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  const ticks = '`'.repeat(longestRun(line) + 1);
  return `${ticks} ${line} ${ticks}`;
}

/** A code block whose fence is longer than any in the text. */
function fenced(text: string): string {
  const ticks = '`'.repeat(Math.max(3, longestRun(text) + 1));
  return `${ticks}\n${text.trimEnd()}\n${ticks}`;
}

function longestRun(text: string): number {
  return Math.max(0, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
}
