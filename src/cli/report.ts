/** The machine-readable result of a loop: JSON, Markdown, or the job summary of a GitHub workflow. */
import { appendFileSync, writeFileSync } from 'node:fs';
import { type EndedLoop, loopResult } from '../loops/result.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { oneOf, type ViewOptions } from './options.ts';
import { jsonOf, printAsIs, warn } from './print.ts';
import { sanitize } from '../text/terminal.ts';

const REPORT_FORMS = ['json', 'markdown', 'github'] as const;

/** The report that was asked for. Throws before anything starts if its file cannot be written. */
export function reportFrom({ report, reportFile, json }: ViewOptions): Report | null {
  if (report === undefined) {
    if (reportFile === undefined) return null;
    throw new UserError('--report-file requires --report json, markdown or github');
  }
  const form = oneOf('--report', report, REPORT_FORMS);
  if (json === true && reportFile === undefined)
    throw new UserError(
      '--report and --json both print to stdout; drop one, or write the report to a --report-file',
    );
  if (reportFile !== undefined) clear(reportFile);
  return new Report(form, reportFile ?? null);
}

/** Empties the file, so that the report of an earlier loop is not taken for this one. */
function clear(file: string): void {
  try {
    writeFileSync(file, '');
  } catch (error) {
    throw new UserError(`--report-file: cannot write ${file}: ${reasonOf(error)}`);
  }
}

export class Report {
  readonly #form: (typeof REPORT_FORMS)[number];
  /** Null for stdout; with `github`, for the job summary if there is one. */
  readonly #file: string | null;

  constructor(form: (typeof REPORT_FORMS)[number], file: string | null) {
    this.#form = form;
    this.#file = file;
  }

  /** Whether it goes to stdout, where the agent's words would go. */
  get isPrinted(): boolean {
    return this.#file === null && this.#summaryFile === null;
  }

  /** Writes the report. A report that cannot be written prints an error and does not change the exit code. */
  async write(loop: EndedLoop): Promise<void> {
    try {
      this.#write(await this.#textOf(loop));
    } catch (error) {
      warn(`ralph: error: cannot write the report: ${reasonOf(error)}\n`);
    }
  }

  async #textOf(loop: EndedLoop): Promise<string> {
    const form = this.#form;
    if (form === 'json') return `${jsonOf(loopResult(loop), 2)}\n`;
    const [{ factsAtEnd }, { markdownReport }] = await Promise.all([
      import('../loops/facts.ts'),
      import('../text/report-markdown.ts'),
    ]);
    const facts = await factsAtEnd(loop.spec, loop.end());
    const beside = { heading: null, home: process.env['HOME'], folds: form === 'github' };
    return sanitize(markdownReport([facts], beside), false);
  }

  #write(text: string): void {
    if (this.#file !== null) writeFileSync(this.#file, text);
    else if (this.#summaryFile !== null) appendFileSync(this.#summaryFile, text);
    else printAsIs(text);
  }

  get #summaryFile(): string | null {
    return this.#form === 'github' ? summaryFile() : null;
  }
}

/** The file for the summary of a step, in a GitHub workflow. */
export function summaryFile(): string | null {
  const file = process.env['GITHUB_STEP_SUMMARY'];
  return file === undefined || file === '' ? null : file;
}

/** Hides the agent's output if the report goes to stdout. */
export function viewBeside<T extends ViewOptions>(report: Report | null, view: T): T {
  return report?.isPrinted === true ? { ...view, streamAgentOutput: false } : view;
}
