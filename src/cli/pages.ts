/** The pages of `docs/`, which are in the package: `ralph help TOPIC` and `ralph skill` print them. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runAttached } from '../process/attached.ts';
import { closest } from '../settings/closest.ts';
import { pageOnTerminal, withoutNotes } from '../text/page.ts';
import { UserError } from '../user-error.ts';
import { painter } from './line-options.ts';
import { printAsIs, terminalWidth } from './print.ts';

/** `ralph help TOPIC`, for a word that is no command. */
export async function helpOn(word: string, commands: readonly string[]): Promise<number> {
  const topics = pageNames();
  const topic = basename(word.toLowerCase(), '.md');
  if (topic === INDEX) return showPage('README');
  if (topics.includes(topic)) return showPage(topic);
  const near = closest(word, [...commands, ...topics]);
  const meant = near === null ? '' : ` (did you mean ${near}?)`;
  throw new UserError(
    `unknown command or topic '${word}'${meant}; list the commands with: ralph help --all; the topics with: ralph help topics`,
  );
}

/** Prints a page: in the pager on a terminal, else as it is. */
export async function showPage(name: string): Promise<number> {
  const markdown = readFileSync(new URL(`${name}.md`, PAGES), 'utf8');
  if (!process.stdout.isTTY) {
    printAsIs(withoutNotes(markdown));
    return 0;
  }
  const paint = painter(process.stdout);
  const text = pageOnTerminal(markdown, {
    width: Math.min(terminalWidth(), MAX_WIDTH),
    bold: (words) => paint('bold', words),
  });
  const { PAGER } = process.env;
  const argv = PAGER === undefined ? (['less'] as const) : (['/bin/sh', '-c', PAGER] as const);
  // As git does: `less` shows colours, and ends at once where the page fits the screen.
  const env = { LESS: 'FRX', ...process.env };
  const code = PAGER === '' ? null : await runAttached([...argv], { cwd: process.cwd(), env, input: text });
  if (code === null || code === 126 || code === 127) printAsIs(text);
  return 0;
}

/** The names of all pages that are topics. */
export function pageNames(): readonly string[] {
  try {
    return readdirSync(PAGES)
      .filter((file) => file.endsWith('.md') && !NO_TOPICS.has(file))
      .map((file) => basename(file, '.md'))
      .toSorted();
  } catch (error) {
    throw new UserError(`the pages are missing from this installation: ${fileURLToPath(PAGES)}`, 3, {
      cause: error,
    });
  }
}

const PAGES = new URL('../../docs/', import.meta.url);

/** The topic that lists all pages by task. */
const INDEX = 'topics';

const NO_TOPICS: ReadonlySet<string> = new Set(['README.md', 'contract.md']);

/** Longer lines are hard to read. */
const MAX_WIDTH = 100;
