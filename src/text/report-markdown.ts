import type { LoopFacts } from '../loops/facts.ts';
import { commitTexts, fileText } from './night-rows.ts';
import { code, escaped } from './report.ts';
import { summaryRows } from './summary.ts';

interface Beside {
  /** Above the loops; null for one loop. */
  readonly heading: string | null;
  readonly home: string | undefined;
}

/** The report of loops as Markdown: the rows of the text, and the changed files as a list. */
export function markdownReport(facts: readonly LoopFacts[], { heading, home }: Beside): string {
  const title = heading === null ? [] : [`# ${escaped(heading)}`, ''];
  return [...title, ...facts.flatMap((one) => sectionOf(one, home))].join('\n');
}

function sectionOf(facts: LoopFacts, home: string | undefined): readonly string[] {
  const { end, name, status, changes } = facts;
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
  ];
}

function listOf(title: string, items: readonly string[]): readonly string[] {
  return items.length === 0 ? [] : [title, '', ...items.map((item) => `- ${escaped(item)}`), ''];
}

/** A command or a path is shown as code, so that it can be copied. A bar would end the cell there, too. */
function cellOf(label: string, text: string): string {
  return IN_CODE.has(label) && !text.includes('|') ? code(text) : escaped(text);
}

const IN_CODE: ReadonlySet<string> = new Set(['resume', 'story', 'details', 'logs']);
