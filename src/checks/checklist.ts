/**
 * Reads the task list items of GitHub Flavored Markdown: `- [ ] open` and `1. [x] done`, at any depth and in block quotes.
 *
 * Only the structure of blocks is parsed. It decides what is a list item and what is code or a comment, it takes time in
 * proportion to the length of the text whatever an agent writes, and titles are shown as they are written.
 */
import { UserError } from '../user-error.ts';
import { type Plan, type PlanItem, titleOf } from './plan-items.ts';

export async function parseChecklist(text: string, file: string): Promise<Plan> {
  const { blocksOf } = await import('./markdown.ts');
  const lines = text.split(/\r\n|\n|\r/);
  const places = new Map<PlanItem, readonly [number, number]>();
  const open: Ancestor[] = [];
  for (const token of blocksOf(text)) {
    if (token.type === 'list_item_open') open.push({ item: null, map: token.map, isNew: true });
    else if (token.type === 'list_item_close') open.pop();
    const innermost = open.at(-1);
    if (innermost === undefined || token.type === 'list_item_open' || token.type === 'paragraph_open')
      continue;
    // The checkbox is the beginning of the first paragraph, and nothing comes before that.
    const box = innermost.isNew && token.type === 'inline' ? BOX.exec(token.content) : null;
    innermost.isNew = false;
    if (box === null) continue;
    const parent = open.slice(0, -1).findLast(({ item }) => item !== null)?.item ?? null;
    const title = titleOf(token.content.slice(box[0].length));
    innermost.item = { id: null, title, isDone: box[1] !== ' ', parent };
    const [from, to] = innermost.map ?? [0, 0];
    places.set(innermost.item, [from, to]);
  }
  if (places.size === 0)
    throw new UserError(`the plan ${file} has no checkboxes; write its items as "- [ ] text"`);
  return {
    items: [...places.keys()],
    detailsOf(item) {
      const [from, to] = places.get(item) ?? [0, 0];
      const own = withoutIndent(lines.slice(from, to)).join('\n').trim();
      // A single line says no more than the title.
      return own.includes('\n') ? own : '';
    },
  };
}

interface Ancestor {
  item: PlanItem | null;
  readonly map: readonly [number, number] | null;
  /** Whether nothing of it was read yet. */
  isNew: boolean;
}

const BOX = /^\[([ xX])\]\s+(?=\S)/;

/** Without the indentation and the marks of block quotes that the first line has. */
function withoutIndent([first = '', ...others]: readonly string[]): readonly string[] {
  const indent = /^[\s>]*/.exec(first)?.[0] ?? '';
  const short = (line: string): string => (line.startsWith(indent) ? line.slice(indent.length) : line.trim());
  return [first, ...others].map(short);
}
