/**
 * Reads the settings files of a workspace. Errors name the file, line and column.
 *
 * 1. A file is read once: what is shown to the user, what the user trusts and what the loop uses are the same bytes.
 * 2. Only a regular file in a real folder is read. A repository may contain links to anything and pipes that block.
 */
import { basename, dirname, join } from 'node:path';
import { below } from '../files/below.ts';
import { codeOf, readRegular, UnusableFile } from '../files/files.ts';
import { FAIL_ACTIONS } from '../loop/policy.ts';
import { isRecord } from '../loop/shape.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { CHECK_ALIASES, DOCUMENTED_PRESET, resolveAliases, SETTING_ALIASES, type Clash } from './aliases.ts';
import { closest } from './closest.ts';
import { secretPlaceIn } from './notify.ts';
import { readUserSettings, type UserSettings } from './user-settings.ts';
import { leaves, LOCAL_SETTINGS_FILE, mergeSettings, SETTINGS_FILE, type Settings } from './settings.ts';
import type { SchemaProblem } from './schema.ts';
import { type Rows, ROWS } from './rows.ts';

/** Null for a loop that uses no settings files, not even those of the user. */
export async function readSettings(workspace: string | null): Promise<SettingsFiles> {
  const found =
    workspace === null
      ? []
      : [await readFile(workspace, SETTINGS_FILE), await readFile(workspace, LOCAL_SETTINGS_FILE)];
  const namesPreset = found.some((file) => file?.settings.preset !== undefined);
  const [shared = null, local = null] = namesPreset ? found : found.map(withPresetOfNames);
  const user = workspace === null ? null : await readUserSettings();
  const fileOf = (key: string): SettingsFile | null =>
    local?.has(key) === true ? local : shared?.has(key) === true ? shared : null;
  return {
    user,
    shared: shared === null ? null : shared.settings,
    local: local === null ? null : local.settings,
    merged: mergeSettings(shared?.settings ?? {}, local?.settings ?? {}),
    origin: (key) => (local?.has(key) === true ? 'local' : shared?.has(key) === true ? 'file' : null),
    place: (key) => fileOf(key)?.place(key) ?? null,
    written: (key) => fileOf(key)?.written(key) ?? key,
    presetNote: namesPreset ? null : presetNote(fileOf('preset')),
  };
}

export interface SettingsFiles {
  /** The user's own settings for all workspaces; null if there are none. */
  readonly user: UserSettings | null;
  /** Null if there is no such file. */
  readonly shared: Settings | null;
  readonly local: Settings | null;
  /** The shared settings, overridden by the local ones. */
  readonly merged: Settings;
  /** Which file sets a key. */
  origin(key: string): 'file' | 'local' | null;
  /** Where that file sets it: `.ralph/settings.json:3:5`. */
  place(key: string): string | null;
  /** The key as that file spells it: `guardrails` for `checks`. */
  readonly written: (key: string) => string;
  /** Why there is a preset that no file names; null if there is none, or a file names it. */
  readonly presetNote: string | null;
}

interface SettingsFile {
  readonly settings: Settings;
  has(key: string): boolean;
  place(key: string): string;
  written(key: string): string;
}

/** A file with names of document 001 is for the preset that has them. */
function withPresetOfNames(file: SettingsFile | null): SettingsFile | null {
  if (file === null) return null;
  const key = Object.keys(file.settings).find((name) => file.written(name) !== name);
  if (key === undefined) return file;
  const settings: Settings = { preset: DOCUMENTED_PRESET, ...file.settings };
  const written = (path: string): string => file.written(path === 'preset' ? key : path);
  const place = (path: string): string => file.place(path === 'preset' ? key : path);
  return { settings, has: (path) => path === 'preset' || file.has(path), written, place };
}

function presetNote(file: SettingsFile | null): string | null {
  if (file === null) return null;
  const why = `${file.written('preset')} in ${file.place('preset')} is a name of document 001`;
  return `using preset ${DOCUMENTED_PRESET}, because ${why}; choose another with --preset, or "preset" in the file`;
}

async function readFile(workspace: string, name: string): Promise<SettingsFile | null> {
  const text = textOf(workspace, name);
  if (text === null) return null;
  const { duplicateKeyIn, offsetsOf, positionAt, syntaxErrorIn, tooDeepIn } =
    await import('../files/json-text.ts');
  let offsets: ReadonlyMap<string, number> | null = null;
  const offsetOf = (path: string): number => nearest((offsets ??= offsetsOf(text)), path);
  const placeAt = (offset: number): string => {
    const { line, column } = positionAt(text, offset);
    return `${name}:${line}:${column}`;
  };

  const tooDeep = tooDeepIn(text);
  if (tooDeep !== null) throw failure([`${name}:${tooDeep.line}:${tooDeep.column}: ${tooDeep.message}`]);
  const parsed = parse(text);
  if (parsed === null) {
    const { line = 1, column = 1, message = 'unexpected text' } = syntaxErrorIn(text) ?? {};
    throw failure([`${name}:${line}:${column}: not valid JSON: ${message}`]);
  }
  const twice = duplicateKeyIn(text);
  if (twice !== null) throw failure([`${name}:${twice.line}:${twice.column}: ${twice.message}`]);
  const { content, clashes, written } = resolveAliases(parsed.content);
  const [clash] = clashes;
  if (clash !== undefined) throw failure([`${placeAt(offsetOf(clash.alias))}: ${describeClash(clash)}`]);

  const normalized = normalize(content, name === SETTINGS_FILE);
  const { findSchemaProblems } = await import('./schema.ts');
  const problems = findSchemaProblems(normalized).map((problem) => {
    const path = written(problem.path);
    return { offset: offsetOf(path), text: describe(problem, path) };
  });
  if (problems.length > 0) {
    const sorted = problems.toSorted((a, b) => a.offset - b.offset);
    const hidden = sorted.length - MAX_SHOWN;
    throw failure([
      ...sorted.slice(0, MAX_SHOWN).map((problem) => `${placeAt(problem.offset)}: ${problem.text}`),
      ...(hidden > 0 ? [`… and ${hidden} more`] : []),
    ]);
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema has just validated it
  const settings = normalized as Settings;
  const secret = secretPlaceIn(settings);
  if (secret !== null) throw failure([`${placeAt(offsetOf(written(secret)))}: ${secret} ${NO_SECRET}`]);
  return {
    settings,
    has: (key) => leaves(settings).has(key.replace(/\[.*$/, '')),
    place: (key) => placeAt(offsetOf(written(key))),
    written,
  };
}

const NO_SECRET =
  'contains an address or a key, which settings of a workspace must not have; put it into a variable ("env:NAME") or into your own settings (docs/notices.md)';
const MAX_SHOWN = 20;

/** Null if the file does not exist. */
function textOf(workspace: string, name: string): string | null {
  try {
    const content = below(workspace, [dirname(name)], { make: false }, (folder) =>
      readRegular(join(folder, basename(name)), MAX_BYTES),
    );
    return content?.toString('utf8').replace(/^\uFEFF/, '') ?? null;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw failure([
      `cannot read ${name}: ${error instanceof UnusableFile ? reasonIn(error) : reasonOf(error)}`,
    ]);
  }
}

/** The file is named by a path that is valid only while it is read. */
function reasonIn({ path, reason }: UnusableFile): string {
  const folder = dirname(SETTINGS_FILE);
  const found = basename(path) === folder ? reason.replace(/^it/, folder) : reason;
  return `${found}; settings must be in a regular file in a real folder`;
}

/** Far more than any settings need. */
const MAX_BYTES = 1024 * 1024;

/** Null for invalid JSON; `null` itself is valid. */
function parse(text: string): { readonly content: unknown } | null {
  try {
    return { content: JSON.parse(text) };
  } catch {
    return null;
  }
}

/** Document 001 accepts a fail action in any case, and in the shared file 0 or "" for the default. */
function normalize(content: unknown, isShared: boolean, rows: Rows = ROWS): unknown {
  if (!isRecord(content)) return content;
  const entries = Object.entries(content).flatMap(([key, value]): [string, unknown][] => {
    const { blankIsDefault, list, parts } = rows[key] ?? {};
    if (isShared && blankIsDefault === true && (value === 0 || value === '')) return [];
    if (key === 'checks' && Array.isArray(value)) return [[key, value.map(upperCaseFailAction)]];
    return [[key, parts === undefined || list !== undefined ? value : normalize(value, isShared, parts)]];
  });
  return Object.fromEntries(entries);
}

function upperCaseFailAction(check: unknown): unknown {
  if (!isRecord(check) || typeof check['failAction'] !== 'string') return check;
  const action = check['failAction'].toUpperCase();
  // An invalid action stays as it is written, for the message.
  return FAIL_ACTIONS.some((known) => known === action) ? { ...check, failAction: action } : check;
}

function describe(problem: SchemaProblem, path: string): string {
  if ('must' in problem) {
    const subject = path === '' ? 'the content' : path;
    const got = problem.must === 'must not be empty' ? '' : `, got ${shown(problem.value)}`;
    return `${subject} ${problem.must}${got}`;
  }
  const isInCheck = problem.path.startsWith('checks[');
  const aliases = isInCheck
    ? CHECK_ALIASES
    : problem.path === problem.unknown
      ? SETTING_ALIASES
      : new Map<string, string>();
  const near = closest(problem.unknown, [...problem.known, ...aliases.keys()]);
  if (near !== null) return `unknown key ${JSON.stringify(path)} (did you mean ${near}?)`;
  const names = new Map([...aliases].map(([alias, name]) => [name, `${name} (or ${alias})`]));
  const known = problem.known.map((name) => names.get(name) ?? name).join(', ');
  return `unknown key ${JSON.stringify(path)} (known keys are ${known})`;
}

function describeClash({ alias, name }: Clash): string {
  return `"${alias}" and "${name}" are two names of one setting; keep one of them`;
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** The offset of a value, or of the innermost object or list that should contain it. */
function nearest(offsets: ReadonlyMap<string, number>, path: string): number {
  const offset = offsets.get(path);
  const outer = path.replace(/(?:\.|^)[^.[\]]+$|\[\d+\]$/, '');
  return offset ?? (outer === path ? 0 : nearest(offsets, outer));
}

function failure(problems: readonly string[]): UserError {
  return new UserError(`failed to load settings: ${problems.join('\n  ')}`);
}
