/** `ralph report`: what loops have done, for a person who was not there. */
import { appendFileSync } from 'node:fs';
import type { LoopFacts } from '../loops/facts.ts';
import type { LoopRow } from '../loops/list.ts';
import type { LoopRef, Loops } from '../loops/loops.ts';
import { writeWhole } from '../loops/write-whole.ts';
import { parseDuration } from '../settings/values.ts';
import { counted } from '../loop/counted.ts';
import { isError, summary } from '../text/summary.ts';
import { ofTheNight, rowNeedsPerson } from '../text/look-first.ts';
import { localMinute } from '../text/times.ts';
import { sanitize } from '../text/terminal.ts';
import { UserError, reasonOf } from '../user-error.ts';
import { hall } from './hall.ts';
import { painter, type Paint } from './line-options.ts';
import { flat, loopLines } from './ls.ts';
import { oneOf } from './options.ts';
import { jsonOf, printAsIs, terminalHeight, terminalWidth, warn } from './print.ts';
import { summaryFile } from './report.ts';
import { asTyped } from './typed-name.ts';
import { workspaceOf } from './workspace.ts';

interface ReportOptions {
  readonly all?: boolean;
  readonly since?: string;
  readonly format?: string;
  readonly output?: string;
  readonly cwd?: string;
}

const FORMATS = ['text', 'json', 'markdown', 'github', 'html'] as const;
type Format = (typeof FORMATS)[number];

/** Reports one loop, or all loops of the night. */
export async function reportLoops(name: string | null, options: ReportOptions): Promise<number> {
  const format = oneOf('--format', options.format ?? 'text', FORMATS);
  if (name !== null && options.all === true)
    throw new UserError('cannot use --all with the name of a loop; drop one of them');
  if (options.output === '') throw new UserError('--output must not be empty');
  write(await reportText(hall(), name, options, format), format, options.output ?? null);
  return 0;
}

/** The report as a text, in the width of the terminal. */
export async function reportText(
  loops: Loops,
  name: string | null,
  options: ReportOptions,
  format: Format = 'text',
): Promise<string> {
  const since = sinceOf(name, options);
  const workspace = options.all === true ? null : workspaceOf(options);
  const night = name === null ? ofTheNight(await loops.list({ workspace }), since) : [];
  const told = name === null && format === 'text' ? toldInFull(night) : night;
  const facts =
    name === null ? await factsOfAll(loops, told, since, format) : [await ofOne(loops, name, since, options)];
  const listed = night.filter((row) => !told.includes(row));
  return textOf(facts, { format, since, name, options, night, listed });
}

function sinceOf(name: string | null, { since }: ReportOptions): number {
  if (since === undefined && name !== null) return 0;
  return Math.max(0, Date.now() - parseDuration('--since', since ?? '12h'));
}

async function ofOne(loops: Loops, name: string, since: number, options: ReportOptions): Promise<LoopFacts> {
  const ref = await loops.find(name, workspaceOf(options));
  const { summary: found, trouble } = await loops.get(ref);
  if (found.status === 'unreadable') throw new UserError(trouble ?? `cannot read loop ${name}`);
  return loops.facts(ref, { since, countsTests: true });
}

/** Of a long night only the first loops that need a person; the others have a row each. */
function toldInFull(night: readonly LoopRow[]): readonly LoopRow[] {
  if (night.length <= MOST_SCREENS) return night;
  return night.filter(rowNeedsPerson).slice(0, MOST_SCREENS);
}

const MOST_SCREENS = 10;

async function factsOfAll(
  loops: Loops,
  rows: readonly LoopRow[],
  since: number,
  format: Format,
): Promise<readonly LoopFacts[]> {
  const facts: LoopFacts[] = [];
  for (const { id, name, workspace: of } of rows) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other: a night may have hundreds
    const found = await factsIfThere(loops, { id, name, workspace: of }, since, format);
    if (found !== null) facts.push(found);
  }
  return facts;
}

/** Null if it was removed meanwhile. */
async function factsIfThere(
  loops: Loops,
  ref: LoopRef,
  since: number,
  format: Format,
): Promise<LoopFacts | null> {
  try {
    return await loops.facts(ref, { since, countsTests: format === 'html' || format === 'json' });
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    warn(`ralph: warning: ${error.message}\n`);
    return null;
  }
}

interface Asked {
  readonly format: Format;
  readonly since: number;
  readonly name: string | null;
  readonly options: ReportOptions;
  /** The loops that are reported, and those of them that are only listed. */
  readonly night: readonly LoopRow[];
  readonly listed: readonly LoopRow[];
}

async function textOf(facts: readonly LoopFacts[], asked: Asked): Promise<string> {
  const { format, name, options, listed } = asked;
  const heading = name === null ? headingOf(asked) : null;
  const home = process.env['HOME'];
  if (format === 'json') return `${jsonOf(name === null ? facts : facts[0], 2)}\n`;
  if (format === 'html') {
    const [{ htmlReport, REPORT_STYLE }, { createHash }] = await Promise.all([
      import('../text/report-html.ts'),
      import('node:crypto'),
    ]);
    const styleHash = createHash('sha256').update(REPORT_STYLE).digest('base64');
    return htmlReport(facts, { heading, home, madeAt: Date.now(), styleHash });
  }
  if (format === 'markdown' || format === 'github') {
    const { markdownReport } = await import('../text/report-markdown.ts');
    return sanitize(markdownReport(facts, { heading, home, folds: format === 'github' }), false);
  }
  const isFile = options.output !== undefined;
  const paint: Paint = isFile ? (_, text) => text : painter(process.stdout);
  const width = isFile ? Infinity : terminalWidth();
  const height = isFile ? Infinity : terminalHeight() - (options.all === true ? 1 : 0);
  const parts = facts.map((one) =>
    [
      `${paint('bold', `ralph: ${one.name}`)} ${paint(colourOf(one), one.status)}`,
      ...(options.all === true ? [`  workspace   ${one.workspace}`] : []),
      ...(isError(one.end) ? [`ralph: error: ${one.end.reason}`] : []),
      ...summary(one, { home, width, height, advise: asTyped }),
    ].join('\n'),
  );
  const others = loopLines(flat(listed), { isOfAll: options.all === true, width, paint }).trimEnd();
  const text = [
    ...(heading === null ? [] : [heading]),
    ...parts,
    ...(listed.length === 0 ? [] : [others, asTyped('the report of one of them: ralph report NAME')]),
  ].join('\n\n');
  return `${isFile ? sanitize(text, false) : text}\n`;
}

function colourOf({ status, owner }: LoopFacts): 'green' | 'cyan' | 'red' {
  if (status === 'done') return 'green';
  return owner === null ? 'red' : 'cyan';
}

/** `3 loops since 2026-02-05 21:00, 1 needs a person`. */
function headingOf({ since, night }: Asked): string {
  const moment = localMinute(since);
  const needed = night.filter(rowNeedsPerson).length;
  const who = needed === 0 ? '' : `; ${needed} ${needed === 1 ? 'needs' : 'need'} a person`;
  return night.length === 0
    ? `no loops since ${moment}`
    : `${counted(night.length, 'loop')} since ${moment}${who}`;
}

function write(text: string, format: Format, output: string | null): void {
  if (output !== null) return writeWhole('--output', output, text);
  const file = format === 'github' ? summaryFile() : null;
  if (file === null) return void printAsIs(text);
  try {
    appendFileSync(file, text);
  } catch (error) {
    throw new UserError(`cannot write ${file}: ${reasonOf(error)}`, 2, { cause: error });
  }
}
