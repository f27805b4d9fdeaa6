/** A loop's result for others than the one who started it: a program, a page, a pull request. */
import { appendFileSync, writeFileSync } from 'node:fs';
import { costText } from '../loop/report.ts';
import type { LoopResult } from '../views/loop-result.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { oneOf, type ViewOptions } from './options.ts';
import { print, warn } from './print.ts';

const REPORT_FORMS = ['json', 'markdown', 'github'] as const;

/** The report that was asked for; a file that cannot be written is refused before anything has begun. */
export function reportFrom({ report, reportFile, json }: ViewOptions): Report | null {
  if (report === undefined) {
    if (reportFile === undefined) return null;
    throw new UserError('--report-file needs --report json, markdown or github');
  }
  const form = oneOf('--report', report, REPORT_FORMS);
  if (json === true && reportFile === undefined)
    throw new UserError(
      '--report and --json both want the standard output; give one of them a --report-file',
    );
  if (reportFile !== undefined) clear(reportFile);
  return new Report(form, reportFile ?? null);
}

/** Nobody may take an earlier result for this one's. */
function clear(file: string): void {
  try {
    writeFileSync(file, '');
  } catch (error) {
    throw new UserError(`--report-file: cannot write ${file}: ${reasonOf(error)}`);
  }
}

export class Report {
  readonly #form: (typeof REPORT_FORMS)[number];
  /** Null for the standard output; with `github` that is the step's summary, where there is one. */
  readonly #file: string | null;

  constructor(form: (typeof REPORT_FORMS)[number], file: string | null) {
    this.#form = form;
    this.#file = file;
  }

  /** Whether it goes where the agent's words would go. */
  get isPrinted(): boolean {
    return this.#file === null && !(this.#form === 'github' && stepSummary() !== '');
  }

  /** Writes it; a report that cannot be written is told, and does not change how the loop ended. */
  write(result: LoopResult): void {
    try {
      this.#write(result);
    } catch (error) {
      warn(`ralph: error: the report cannot be written: ${reasonOf(error)}\n`);
    }
  }

  #write(result: LoopResult): void {
    const form = this.#form;
    const text =
      form === 'json' ? `${JSON.stringify(result, null, 2)}\n` : markdown(result, form === 'github');
    if (this.#file !== null) writeFileSync(this.#file, text);
    else if (this.isPrinted) print(text);
    else appendFileSync(stepSummary(), text);
  }
}

/** Where GitHub's runner wants to have what a step has to say. */
function stepSummary(): string {
  return process.env['GITHUB_STEP_SUMMARY'] ?? '';
}

/** Where a report is printed, it is all that is. */
export function viewBeside<T extends ViewOptions>(report: Report | null, view: T): T {
  return report?.isPrinted === true ? { ...view, streamAgentOutput: false } : view;
}

/** One line for every iteration, as document 002 ends. */
export function iterationLines({ iterations }: LoopResult): readonly string[] {
  return iterations.map((one) => {
    const verdict = `[${one.allChecksPassed ? 'PASS' : 'FAIL'}]${one.completionTagFound ? ' [TAG]' : ''}`;
    return `  Iter ${one.iteration}: ${verdict} steps=${one.stepsTaken} cost=${costText(one.cost, one.costIsKnown)}`;
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
    `| ${result.totalIterations} | ${costText(totalCost, result.costIsKnown)} | ${totalDuration.toFixed(1)} s |`,
    '',
    ...(result.worktreePath === '' ? [] : [`Worktree: \`${result.worktreePath}\``, '']),
    '| iteration | checks | word | steps | cost | time | error |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...iterations.map((one) => {
      const green = one.checkResults.filter(({ passed }) => passed).length;
      const count = one.checkResults.length;
      const checks = count === 0 ? 'none' : `${one.allChecksPassed ? 'pass' : 'fail'} (${green}/${count})`;
      const cells = [
        String(one.iteration),
        checks,
        one.completionTagFound ? 'yes' : 'no',
        String(one.stepsTaken),
        costText(one.cost, one.costIsKnown),
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
