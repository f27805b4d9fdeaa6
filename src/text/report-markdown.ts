import { duration } from '../loop/counted.ts';
import type { LoopFacts } from '../loops/facts.ts';
import type { IterationPoint } from '../loops/night.ts';
import { escapeHtml } from './escape-html.ts';
import { commitTexts, fileText } from './night-rows.ts';
import { summaryRows } from './summary.ts';

interface Beside {
  /** Above the loops; null for one loop. */
  readonly heading: string | null;
  readonly home: string | undefined;
  /** Whether the reader folds HTML: what failed checks printed is folded then. */
  readonly folds: boolean;
}

/** The report of loops as Markdown: the rows of the text, and below them what a screen has no room for. */
export function markdownReport(facts: readonly LoopFacts[], { heading, ...beside }: Beside): string {
  const title = heading === null ? [] : [`# ${escaped(heading)}`, ''];
  return [...title, ...facts.flatMap((one) => sectionOf(one, beside))].join('\n');
}

function sectionOf(facts: LoopFacts, { home, folds }: Omit<Beside, 'heading'>): readonly string[] {
  const { end, name, status, changes, night, checks } = facts;
  const rows = summaryRows(facts, { home });
  const files = changes?.files ?? [];
  return [
    `## Ralph loop ${code(name)}: ${escaped(status)}`,
    '',
    escaped(end.reason),
    '',
    '| | |',
    '| --- | --- |',
    ...rows.map(([label, text]) => `| ${escaped(label)} | ${cellOf(label, text)} |`),
    '',
    ...listOf('Changed files:', files.map(fileText)),
    ...listOf('Last commits:', commitTexts(facts)),
    ...iterationsTable(night?.points ?? []),
    ...checks.flatMap(({ command, output }) =>
      output === null ? [] : folds ? foldedCheck(command, output) : failedCheck(command, output),
    ),
  ];
}

function listOf(title: string, items: readonly string[]): readonly string[] {
  return items.length === 0 ? [] : [title, '', ...items.map((item) => `- ${escaped(item)}`), ''];
}

/** One iteration is in the rows above. */
function iterationsTable(points: readonly IterationPoint[]): readonly string[] {
  if (points.length < 2) return [];
  return [
    '| iteration | checks | claim | cost | time |',
    '| --- | --- | --- | --- | --- |',
    ...points.map(({ iteration, checks, failingChecks, claim, costUsd, durationMs }) => {
      const verdict = failingChecks === 0 ? 'pass' : 'fail';
      const checked = checks === 0 ? 'none' : `${verdict} (${checks - failingChecks}/${checks})`;
      const cost = costUsd === null ? 'unknown' : `$${costUsd.toFixed(4)}`;
      return `| ${iteration} | ${checked} | ${claim} | ${cost} | ${duration(durationMs, ' ')} |`;
    }),
    '',
  ];
}

function foldedCheck(command: string, output: string): readonly string[] {
  const summary = `<summary>failing: <code>${escapeHtml(command.replaceAll(/\s+/g, ' '))}</code></summary>`;
  return ['<details>', summary, '', fenced(output), '', '</details>', ''];
}

function failedCheck(command: string, output: string): readonly string[] {
  return [`### Failing: ${code(command)}`, '', fenced(output), ''];
}

/** A command or a path is shown as code, so that it can be copied. A bar would end the cell there, too. */
function cellOf(label: string, text: string): string {
  return IN_CODE.has(label) && !text.includes('|') ? code(text) : escaped(text);
}

const IN_CODE: ReadonlySet<string> = new Set(['resume', 'story', 'details', 'logs']);

/** Text that Markdown shows as it is, in a table too. */
function escaped(text: string): string {
  return text.replaceAll(/[\\`*_{}[\]<>#|]/g, String.raw`\$&`).replaceAll(/\s+/g, ' ');
}

function code(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  const ticks = '`'.repeat(longestRun(line) + 1);
  const gap = line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${ticks}${gap}${line}${gap}${ticks}`;
}

/** A code block whose fence is longer than any in the text. */
function fenced(text: string): string {
  const ticks = '`'.repeat(Math.max(3, longestRun(text) + 1));
  return `${ticks}\n${text.trimEnd()}\n${ticks}`;
}

function longestRun(text: string): number {
  return Math.max(0, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
}
