/** The Markdown parser. It is large, so load it only to read a plan. */
import MarkdownIt, { type Token } from 'markdown-it';

/** The blocks of a Markdown text; the content of a paragraph is not parsed. */
export function blocksOf(text: string): readonly Block[] {
  return PARSER.parse(text, {});
}

export type Block = Pick<Token, 'type' | 'map' | 'content'>;

/** Two levels per list; what is nested deeper is no block of its own. */
const MAX_NESTING = 200;
const PARSER = new MarkdownIt('commonmark', { maxNesting: MAX_NESTING }).disable(['inline', 'text_join']);
