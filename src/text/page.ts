/** A page of `docs/` as a terminal shows it. */
import { columns, wrap } from './columns.ts';

/** Headings, paragraphs and tables fit into the width; code stays as it is. */
export function pageOnTerminal(markdown: string, { width, bold }: Look): string {
  return withoutNotes(markdown)
    .split(/^( *```[^]*?^ *```)$/m)
    .flatMap((part, index) => (index % 2 === 1 ? [code(part)] : blocks(part).map((one) => show(one))))
    .join('\n');

  function show(block: string): string {
    if (block.startsWith('|')) return table(block);
    const [, title] = /^#+ (.*)$/.exec(block) ?? [];
    if (title !== undefined) return `${bold(inline(title))}\n`;
    return block
      .split(/\n(?=\s*(?:-|\d+\.) )/)
      .map((item) => {
        const [, indent = '', mark = '', text = ''] = /^(\s*)((?:-|\d+\.) )?([^]*)$/.exec(item) ?? [];
        const lines = wrap(
          inline(text.replaceAll(/\s*\n\s*/g, ' ').trim()),
          width - indent.length - mark.length,
        );
        return lines
          .map((line, at) => `${indent}${at === 0 ? mark : ' '.repeat(mark.length)}${line}\n`)
          .join('');
      })
      .join('');
  }

  function table(block: string): string {
    const rows = block
      .split('\n')
      .filter((line) => !/^[|\s:-]+$/.test(line))
      .map((line) =>
        line
          .replaceAll(/^\||\|$/g, '')
          .split(/(?<!\\)\|/)
          .map((cell) => inline(cell.trim().replaceAll('\\|', '|'))),
      );
    return columns(rows, { width, paint: (text, row) => (row === 0 ? bold(text) : text) });
  }
}

/** The page without the notes about how it was made. */
export function withoutNotes(markdown: string): string {
  return markdown.replaceAll(/^<!--[^]*?-->\n+/gm, '');
}

export interface Look {
  readonly width: number;
  readonly bold: (text: string) => string;
}

function blocks(part: string): readonly string[] {
  return part
    .split(/\n{2,}/)
    .map((block) => block.replace(/^\n+|\n+$/g, ''))
    .filter((block) => block !== '');
}

function code(fence: string): string {
  const lines = fence.split('\n').slice(1, -1);
  return lines.map((line) => `  ${line}`.trimEnd().concat('\n')).join('');
}

/** Bold text and links as words; a link to another page names its topic. */
function inline(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll(/\*\*|(?<!\w)_|_(?!\w)/g, '')))
    .join('')
    .replaceAll(/\[([^\]]*)\]\(([^)\s]+)\)/g, (_, words: string, target: string) => {
      const [, topic] = /^([\w-]+)\.md(?:#|$)/.exec(target) ?? [];
      if (topic === undefined) return words;
      return words.replaceAll('`', '').includes(topic) ? words : `${words} [${topic}]`;
    });
}
