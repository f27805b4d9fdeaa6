/**
 * What a settings file asks for that needs the user's consent before a loop uses it.
 *
 * 1. Every setting needs consent, unless it is of the group `output`: a setting that is added later needs it by default.
 * 2. The content is made from the settings that the loop uses, not from a second read of the file.
 * 3. Two files with the same content differ only in layout, order of keys, aliases or settings of the display.
 */
import { isRecord } from '../loop/shape.ts';
import { leaves, LOCAL_SETTINGS_FILE, SETTINGS_FILE, type Settings } from './settings.ts';
import { GROUPS } from './rows.ts';

/** The normalised content of one settings file, without what needs no consent. */
export interface SettingsContent {
  readonly file: string;
  readonly content: Content;
}

/** Settings with their keys in alphabetical order. */
export type Content = Readonly<Record<string, unknown>>;

/** The files of a workspace that need consent. */
export function contentsOf(files: {
  readonly shared: Settings | null;
  readonly local: Settings | null;
}): readonly SettingsContent[] {
  return [
    ...contentIn(SETTINGS_FILE, files.shared ?? {}),
    ...contentIn(LOCAL_SETTINGS_FILE, files.local ?? {}),
  ];
}

/** The content of a file; none if it only concerns the display. */
export function contentIn(file: string, settings: Settings): readonly SettingsContent[] {
  const entries = Object.entries(settings).filter(([key, value]) => value !== undefined && !DISPLAY.has(key));
  return entries.length === 0 ? [] : [{ file, content: sorted(Object.fromEntries(entries)) }];
}

const DISPLAY: ReadonlySet<string> = new Set(Object.keys({ ...GROUPS.file, ...GROUPS.output }));

function sorted(content: object): Content {
  const entries = Object.entries(content).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, value]: [string, unknown]) => [key, sortedValue(value)]));
}

function sortedValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedValue);
  return isRecord(value) ? sorted(value) : value;
}

/** A settings file as people see it before they trust it. */
export interface SettingsEntries {
  readonly file: string;
  readonly entries: readonly Entry[];
  /** What differs from the content that the user trusted last; null if the user never trusted the file. */
  readonly change: Difference | null;
}

/** What these files set, and what has changed there since the last consent. */
export function entriesIn(
  contents: readonly SettingsContent[],
  consents: readonly SettingsContent[],
): readonly SettingsEntries[] {
  return contents.map(({ file, content }) => {
    const before = consents.findLast((one) => one.file === file);
    const change = before === undefined ? null : differenceOf(before.content, content);
    return { file, entries: entriesOf(content), change };
  });
}

/** One value of a settings file; each item of a list is one. */
export interface Entry {
  readonly setting: string;
  readonly value: string;
  readonly use: Use;
}

/** What a value is for: Ralph executes it, lets assistants do it, moves the file that it names, or anything else. */
export type Use = 'run' | 'allow' | 'move' | 'other';

/** What a content sets: first what is executed, then what is allowed, then the files that are moved, then the rest. */
export function entriesOf(content: Content): readonly Entry[] {
  const entries = [...leaves(content)].flatMap(([path, value]) => entriesAt(path, value));
  return entries.toSorted((a, b) => rank(a) - rank(b));
}

function entriesAt(path: string, value: unknown): readonly Entry[] {
  if (Array.isArray(value) && value.length > 0)
    return value.flatMap((item: unknown) =>
      isRecord(item)
        ? Object.entries(item).map(([key, part]) => entry(`${path}.${key}`, part))
        : [entry(path, item)],
    );
  return [entry(path, value)];
}

function entry(setting: string, value: unknown): Entry {
  return { setting, value: typeof value === 'string' ? value : JSON.stringify(value), use: useOf(setting) };
}

function useOf(setting: string): Use {
  if (EXECUTED.includes(stemOf(setting))) return 'run';
  if (ALLOWED.includes(setting)) return 'allow';
  return MOVED.includes(setting) ? 'move' : 'other';
}

/** `on` for the commands of all kinds of notices. */
function stemOf(setting: string): string {
  return setting.replace(/^on\..*/, 'on');
}

/** In the order in which people should read them. */
const EXECUTED: readonly string[] = [
  'agent.command',
  'agent.name',
  'agent.flags',
  'checks.command',
  'setup',
  'scm.command',
  'scm.tasks',
  'notify',
  'notify.to',
  'on',
];
/** What assistants may do to loops through `ralph mcp`. */
const ALLOWED: readonly string[] = ['mcp.allow'];
/** Ralph moves a marker file aside if it rejects the claim. */
const MOVED: readonly string[] = ['doneFile'];

const ORDER: readonly string[] = [...EXECUTED, ...ALLOWED, ...MOVED];

function rank({ setting }: Entry): number {
  const at = ORDER.indexOf(stemOf(setting));
  return at < 0 ? ORDER.length : at;
}

export interface Difference {
  readonly removed: readonly Entry[];
  readonly added: readonly Entry[];
}

/** What changes from one content to another; nothing if only the order of a list differs. */
export function differenceOf(before: Content, after: Content): Difference {
  const [old, current] = [entriesOf(before), entriesOf(after)];
  return { removed: without(old, current), added: without(current, old) };
}

/** The entries that `others` does not have, or does not have as often. */
function without(entries: readonly Entry[], others: readonly Entry[]): readonly Entry[] {
  const left = new Map<string, number>();
  const keyOf = ({ setting, value }: Entry): string => `${setting}\n${value}`;
  for (const one of others) left.set(keyOf(one), (left.get(keyOf(one)) ?? 0) + 1);
  return entries.filter((one) => {
    const count = left.get(keyOf(one)) ?? 0;
    left.set(keyOf(one), count - 1);
    return count <= 0;
  });
}
