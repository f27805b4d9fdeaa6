/**
 * How settings are shown before the user trusts them. Their author may want to deceive:
 *
 * 1. Every value is made visible (`visible.ts`) and continues under itself, so that it cannot look like a line of Ralph's.
 * 2. What is executed comes first. What is cut says so, and `ralph trust --show` prints it in full.
 */
import { differenceOf, entriesOf, type Entry, type SettingsContent, type Use } from '../config/consent.ts';
import type { Consent } from '../store/trust.ts';
import { terminalWidth, wrap } from './columns.ts';
import { visible } from '../store/visible.ts';

/** What the settings of a workspace would do, or what has changed since the user trusted them. */
export function settingsText(
  contents: readonly SettingsContent[],
  workspace: string,
  consents: readonly Consent[],
  { full = false }: { readonly full?: boolean } = {},
): string {
  const texts = contents.map((one) => contentText(one, lastConsent(one.file, consents), full));
  const isCut = texts.some((text) => text.includes(CUT) || text.includes(MORE));
  const isChange = contents.every(({ file }) => lastConsent(file, consents) !== null);
  const head = isChange ? 'have changed since you trusted them' : 'are not trusted yet';
  return [
    `The settings of ${visible(workspace)} ${head}.\n`,
    ...texts,
    ...(isCut ? ['\nSome of it is cut; show it in full with: ralph trust --show\n'] : []),
    '\n',
  ].join('');
}

/** What one settings file sets, in full. */
export function fullText({ file, content }: SettingsContent): string {
  return sections(file, rowsOf(entriesOf(content), ' '), WORDS, true);
}

function lastConsent(file: string, consents: readonly Consent[]): Consent | null {
  return consents.findLast((one) => one.file === file) ?? null;
}

function contentText({ file, content }: SettingsContent, before: Consent | null, full: boolean): string {
  const { removed, added } = before === null ? NOTHING : differenceOf(before.content, content);
  // Lists in another order have the same entries.
  if (removed.length + added.length === 0)
    return sections(file, rowsOf(entriesOf(content), ' '), WORDS, full);
  const rows = [...rowsOf(removed, '-'), ...rowsOf(added, '+')];
  return sections(file, rows, WORDS_OF_CHANGE, full);
}

const NOTHING = { removed: [], added: [] };

interface Row extends Entry {
  readonly sign: ' ' | '-' | '+';
}

function rowsOf(entries: readonly Entry[], sign: Row['sign']): readonly Row[] {
  return entries.map((one) => ({ ...one, sign }));
}

type Words = Readonly<Record<Use, string>>;

const WORDS: Words = {
  run: 'runs',
  allow: 'lets assistants do this to loops (ralph mcp)',
  move: 'moves this file aside if the claim is rejected',
  other: 'sets',
};
const WORDS_OF_CHANGE: Words = {
  run: 'changes what it runs',
  allow: 'changes what assistants may do to loops (ralph mcp)',
  move: 'changes which file it moves aside if the claim is rejected',
  other: 'changes what it sets',
};

function sections(file: string, rows: readonly Row[], words: Words, full: boolean): string {
  return USES.map((use) => {
    const own = rows.filter((row) => row.use === use);
    if (own.length === 0) return '';
    const shown = full ? own : own.slice(0, MAX_ROWS);
    const hidden = own.length - shown.length;
    return `\n${file} ${words[use]}:\n${table(shown, full)}${hidden === 0 ? '' : `  ${MORE} ${hidden} more\n`}`;
  }).join('');
}

const USES: readonly Use[] = ['run', 'allow', 'move', 'other'];

function table(rows: readonly Row[], full: boolean): string {
  // Not with a spread: a file may have more entries than a call may have arguments.
  const width = rows.reduce((most, { setting }) => Math.max(most, setting.length), 0);
  const indent = ' '.repeat(4 + width + 2);
  const room = terminalWidth() - indent.length;
  const lines = rows.flatMap(({ sign, setting, value }) => {
    const text = visible(value);
    const wrapped = wrap(full ? text : cut(text), room);
    return wrapped.map((line, index) =>
      index === 0 ? `  ${sign} ${setting.padEnd(width)}  ${line}` : indent + line,
    );
  });
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

/** Shows both ends: what a long command does at its end counts as much as its start. */
function cut(text: string): string {
  if (text.length <= MAX_CHARS) return text;
  const hidden = text.length - KEPT_START - KEPT_END;
  return `${text.slice(0, KEPT_START)} ${CUT} ${hidden} characters not shown ${CUT} ${text.slice(-KEPT_END)}`;
}

const CUT = '[…]';
const MORE = '… and';
const MAX_CHARS = 500;
const KEPT_START = 300;
const KEPT_END = 150;
const MAX_ROWS = 40;
