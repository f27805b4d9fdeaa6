/**
 * How settings are shown before the user trusts them. Their author may want to deceive:
 *
 * 1. Every value is made visible (`visible.ts`) and continues under itself, so that it cannot look like a line of Ralph's.
 * 2. Runs of blanks are counted instead of shown: a command could go on behind them, out of sight.
 * 3. What is executed comes first. What is cut says so, and the question is not asked about it.
 */
import type { Entry, SettingsContent, SettingsEntries, Use } from '../settings/consent.ts';
import type { Trust } from '../settings/trust-of.ts';
import { counted } from '../loop/counted.ts';
import { wrap } from './columns.ts';
import { visible } from './one-line.ts';

/** What the settings of a workspace would do, or what has changed since the user trusted them. */
export function settingsText(
  files: readonly SettingsEntries[],
  workspace: string,
  { full = false, width }: { readonly full?: boolean; readonly width: number },
): SettingsText {
  const parts = files.map((one) => fileText(one, full, width));
  const isChange = files.every(({ change }) => change !== null);
  const head = isChange ? 'have changed since you trusted them' : 'are not trusted yet';
  const texts = parts.map(({ text }) => text);
  return {
    text: [`The settings of ${visible(workspace)} ${head}.\n`, ...texts, '\n'].join(''),
    cut: parts.flatMap(({ cut }) => cut),
  };
}

export interface SettingsText {
  readonly text: string;
  /** What the text does not show in full: `checks.command in .ralph/settings.json`. */
  readonly cut: readonly string[];
}

/** What one settings file sets, in full. */
export function fullText(file: SettingsEntries, width: number): string {
  return fileText({ ...file, change: null }, true, width).text;
}

/** A sentence about the settings of a workspace; null if there are none that need consent. */
export function trustSentence({ contents, open, isTrusted }: Trust): string | null {
  if (contents.length === 0) return null;
  if (open.length === 0) return `${namesOf(contents)} ${areOrIs(contents)} trusted`;
  const but = isTrusted ? 'but RALPH_TRUST=1 is set' : 'ralph run asks first (see: ralph trust --show)';
  return `${namesOf(open)} ${areOrIs(open)} not trusted yet; ${but}`;
}

/** The files by name, for a sentence. */
export function namesOf(contents: readonly Pick<SettingsContent, 'file'>[]): string {
  return contents.map(({ file }) => file).join(' and ');
}

export function areOrIs(contents: readonly unknown[]): string {
  return contents.length === 1 ? 'is' : 'are';
}

function fileText({ file, entries, change }: SettingsEntries, full: boolean, width: number): SettingsText {
  const { removed, added } = change ?? NOTHING;
  // Lists in another order have the same entries.
  if (removed.length + added.length === 0)
    return sections(file, rowsOf(entries, ' '), { words: WORDS, full, width });
  const rows = [...rowsOf(removed, '-'), ...rowsOf(added, '+')];
  return sections(file, rows, { words: WORDS_OF_CHANGE, full, width });
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

function sections(
  file: string,
  entries: readonly Row[],
  { words, full, width }: { readonly words: Words; readonly full: boolean; readonly width: number },
): SettingsText {
  const rows = entries
    .map((row) => ({ ...row, value: shownValue(row.value) }))
    .toSorted((a, b) => USES.indexOf(a.use) - USES.indexOf(b.use));
  const shown = full ? rows : rows.slice(0, countThatFits(rows));
  const texts = USES.map((use) => {
    const own = shown.filter((row) => row.use === use);
    return own.length === 0 ? '' : `\n${file} ${words[use]}:\n${table(own, full, width)}`;
  });
  const hidden = rows.slice(shown.length);
  if (hidden.length > 0) texts.push(`\n… and ${counted(hidden.length, 'more value')} in ${file}\n`);
  const long = full ? [] : shown.filter(({ value }) => value.length > MAX_CHARS);
  const cut = new Set([...long, ...hidden].map(({ setting }) => `${setting} in ${file}`));
  return { text: texts.join(''), cut: [...cut] };
}

/** How many rows a person can read before a question; what is executed comes first. */
function countThatFits(rows: readonly Row[]): number {
  let chars = 0;
  const end = rows.findIndex(({ value }, at) => {
    chars += Math.min(value.length, MAX_CHARS);
    return at >= MAX_ROWS || chars > MAX_ALL_CHARS;
  });
  return end < 0 ? rows.length : end;
}

const USES: readonly Use[] = ['run', 'allow', 'move', 'other'];

function table(rows: readonly Row[], full: boolean, width: number): string {
  // Not with a spread: a file may have more entries than a call may have arguments.
  const widest = rows.reduce((most, { setting }) => Math.max(most, setting.length), 0);
  const indent = ' '.repeat(4 + widest + 2);
  const room = width - indent.length;
  const lines = rows.flatMap(({ sign, setting, value }) => {
    const wrapped = wrap(full ? value : shortened(value), room);
    return wrapped.map((line, index) =>
      index === 0 ? `  ${sign} ${setting.padEnd(widest)}  ${line}` : indent + line,
    );
  });
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

function shownValue(value: string): string {
  return visible(
    value.replaceAll(BLANKS, (run) => {
      const breaks = /[\n\r]/.test(run) ? ' and line breaks' : '';
      return ` [${withCommas(Array.from(run).length)} blanks${breaks}] `;
    }),
  ).trim();
}

/** More than indents and columns have. */
const BLANKS = /[\s\p{Z}\u2800]{10,}/gu;

/** Shows both ends: what a long command does at its end counts as much as its start. */
function shortened(text: string): string {
  if (text.length <= MAX_CHARS) return text;
  const hidden = withCommas(text.length - KEPT_START - KEPT_END);
  return `${text.slice(0, KEPT_START)} […] ${hidden} characters not shown […] ${text.slice(-KEPT_END)}`;
}

function withCommas(count: number): string {
  return String(count).replaceAll(/(?<=\d)(?=(?:\d{3})+$)/g, ',');
}

const MAX_CHARS = 2000;
const KEPT_START = 300;
const KEPT_END = 150;
const MAX_ROWS = 100;
/** Of all values together: more would scroll away what is executed. */
const MAX_ALL_CHARS = 10_000;
