/**
 * Second names that Ralph accepts (`alias` in the table): document 001's `maximumIterations` and `guardrails`, and `action` in a check;
 * and a text in the place of a check.
 * Callers resolve them as soon as they have read a file or a spec, so that everything after that knows one name per
 * setting. A settings file that has them, where no file names a preset, is for the preset of that document (`read.ts`).
 */
import type { PresetName } from '../loop/policy.ts';
import { isRecord } from '../loop/shape.ts';
import type { Settings } from './settings.ts';
import { type Rows, ROWS } from './rows.ts';

export const SETTING_ALIASES: ReadonlyMap<string, string> = aliasesIn(ROWS);

/** The preset of document 001. */
export const DOCUMENTED_PRESET: PresetName = 'ralph-cli';

export const CHECK_ALIASES: ReadonlyMap<string, string> = aliasesIn(ROWS['checks']?.parts ?? {});

function aliasesIn(rows: Rows): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(rows).flatMap(([name, { alias }]) => (alias === undefined ? [] : [[alias, name]])),
  );
}

export interface Resolved<T> {
  /** The same content under our names, with an object for every check. */
  readonly content: WithChecks<T>;
  /** Pairs of keys that set the same thing, as paths: `maximumIterations` and `maxIterations`. */
  readonly clashes: readonly Clash[];
  /** A path under our names, as the user wrote it: `checks[0].command` is `guardrails[0].command`. */
  readonly written: (path: string) => string;
}

type WithChecks<T> = T extends { readonly checks?: readonly (string | (infer Check))[] | undefined }
  ? Omit<T, 'checks'> & { readonly checks?: readonly Check[] | undefined }
  : T;

export interface Clash {
  readonly alias: string;
  readonly name: string;
}

/** Content that is not an object is returned as it is: the schema reports it. */
export function resolveAliases<T>(content: T): Resolved<T> {
  const names = new Map<string, string>();
  const clashes: Clash[] = [];
  const rename = (object: object, aliases: ReadonlyMap<string, string>, ours: string, theirs: string) => {
    const given = Object.entries(object).filter(([, value]) => value !== undefined);
    const keys = new Set(given.map(([key]) => key));
    const entries = given.map(([key, value]: [string, unknown]): [string, unknown] => {
      const name = aliases.get(key);
      if (name === undefined) return [key, value];
      if (keys.has(name)) clashes.push({ alias: theirs + key, name: theirs + name });
      names.set(ours + name, theirs + key);
      return [name, value];
    });
    return Object.fromEntries(entries);
  };
  const { short = '' } = ROWS['checks'] ?? {};
  const checkFrom = (check: unknown, index: number): unknown => {
    if (typeof check === 'string') return { [short]: check };
    if (!isRecord(check)) return check;
    return rename(check, CHECK_ALIASES, `checks[${index}].`, `${names.get('checks') ?? 'checks'}[${index}].`);
  };

  const written = (path: string): string => {
    const [first = ''] = /^[^.[]*/.exec(path) ?? [];
    return names.get(path) ?? `${names.get(first) ?? first}${path.slice(first.length)}`;
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- keys get another name of T, and texts become checks
  const changed = (found: unknown): WithChecks<T> => found as WithChecks<T>;
  if (!isRecord(content)) return { content: changed(content), clashes, written };
  const settings = rename(content, SETTING_ALIASES, '', '');
  const checks = settings['checks'];
  if (Array.isArray(checks)) settings['checks'] = checks.map(checkFrom);
  return { content: changed(settings), clashes, written };
}

/** The settings under document 001's names, for users of its preset. */
export function inDocumentNames(settings: Settings): Readonly<Record<string, unknown>> {
  const aliases = new Map([...SETTING_ALIASES].map(([alias, name]) => [name, alias]));
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]: [string, unknown]) => [aliases.get(key) ?? key, value]),
  );
}
