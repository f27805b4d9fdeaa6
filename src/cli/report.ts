/** A loop's result for others than the one who started it: a program, a page, a pull request. */
import { appendFileSync, writeFileSync } from 'node:fs';
import type { LoopResult } from '../index.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { print, warn } from './print.ts';

export const REPORT_FORMS = ['json', 'markdown', 'github'] as const;
export type ReportForm = (typeof REPORT_FORMS)[number];

/** Where a report goes, and in which form. */
export interface ReportOptions {
  readonly form: ReportForm;
  /** Null for the standard output; with `github` that is the step's summary, where there is one. */
  readonly file: string | null;
}

/** Refuses a file that cannot be written before anything has begun. */
export function checkReport({ file }: ReportOptions): void {
  if (file === null) return;
  try {
    // Nobody may take an earlier result for this one's.
    writeFileSync(file, '');
  } catch (error) {
    throw new UserError(`--report-file: cannot write ${file}: ${reasonOf(error)}`);
  }
}

/** Whether it goes where the agent's words would go. */
export function isPrinted({ form, file }: ReportOptions): boolean {
  return file === null && !(form === 'github' && stepSummary() !== '');
}

/** Where GitHub's runner wants to have what a step has to say. */
function stepSummary(): string {
  return process.env['GITHUB_STEP_SUMMARY'] ?? '';
}

/** Writes it; a report that cannot be written is told, and does not change how the loop ended. */
export function writeReport(options: ReportOptions, result: LoopResult): void {
  try {
    write(options, result);
  } catch (error) {
    warn(`ralph: error: the report cannot be written: ${reasonOf(error)}\n`);
  }
}

function write({ form, file }: ReportOptions, result: LoopResult): void {
  const text = form === 'json' ? `${JSON.stringify(result, null, 2)}\n` : markdown(result, form === 'github');
  if (file !== null) writeFileSync(file, text);
  else if (isPrinted({ form, file })) print(text);
  else appendFileSync(stepSummary(), text);
}

/** One line for every iteration, as document 002 ends. */
export function iterationLines({ iterations }: LoopResult): readonly string[] {
  return iterations.map(({ iteration, allChecksPassed, completionTagFound, stepsTaken, cost }) => {
    const verdict = `[${allChecksPassed ? 'PASS' : 'FAIL'}]${completionTagFound ? ' [TAG]' : ''}`;
    return `  Iter ${iteration}: ${verdict} steps=${stepsTaken} cost=$${cost.toFixed(4)}`;
  });
}

function markdown(result: LoopResult, folds: boolean): string {
  const { iterations, success, reason, totalCost, totalDuration } = result;
  const last = iterations.at(-1);
  const failed = last?.checkResults.filter(({ passed }) => !passed) ?? [];
  return [
    `## Ralph loop \`${result.name}\`: ${success ? 'done' : result.stopReason}`,
    '',
    escaped(reason),
    '',
    '| iterations | cost | time |',
    '| --- | --- | --- |',
    `| ${result.totalIterations} | $${totalCost.toFixed(4)} | ${totalDuration.toFixed(1)} s |`,
    '',
    ...(result.worktreePath === '' ? [] : [`Worktree: \`${result.worktreePath}\``, '']),
    '| iteration | checks | word | steps | cost | time | error |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...iterations.map((one) => {
      const green = one.checkResults.filter(({ passed }) => passed).length;
      const checks = `${one.allChecksPassed ? 'pass' : 'fail'} (${green}/${one.checkResults.length})`;
      const cells = [
        String(one.iteration),
        checks,
        one.completionTagFound ? 'yes' : 'no',
        String(one.stepsTaken),
        `$${one.cost.toFixed(4)}`,
        `${one.duration.toFixed(1)} s`,
        one.error === null ? '' : escaped(one.error.split('\n', 1)[0] ?? ''),
      ];
      return `| ${cells.join(' | ')} |`;
    }),
    '',
    ...failed.flatMap(({ name, output }) =>
      folds
        ? [
            '<details>',
            `<summary>failing: <code>${inHtml(name)}</code></summary>`,
            '',
            fenced(output),
            '',
            '</details>',
            '',
          ]
        : [`### Failing: ${code(name)}`, '', fenced(output), ''],
    ),
  ].join('\n');
}

/** Text that stays text, also in a table. */
function escaped(text: string): string {
  return text.replaceAll(/[\\`*_{}[\]<>#|]/g, String.raw`\$&`).replaceAll(/\s+/g, ' ');
}

function inHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/\s+/g, ' ');
}

function code(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  const ticks = '`'.repeat(longestRun(line) + 1);
  return `${ticks} ${line} ${ticks}`;
}

/** A fence that nothing in the text can close. */
function fenced(text: string): string {
  const ticks = '`'.repeat(Math.max(3, longestRun(text) + 1));
  return `${ticks}\n${text.trimEnd()}\n${ticks}`;
}

function longestRun(text: string): number {
  return Math.max(0, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
}
