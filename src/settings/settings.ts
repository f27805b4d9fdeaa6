/**
 * The settings, as `.ralph/settings.json` has them. The command line becomes the same object (`flags.ts`), so that `policy.ts` is
 * the only way from a setting to the loop.
 */
import { isRecord } from '../loop/shape.ts';
import { type FrontRows, type LoopRows, VALUES } from './rows.ts';

export type { McpChange, Size, Time } from './rows.ts';

/** One key for each row of the table. */
export interface Settings extends LoopRows, FrontRows {}

export type CheckSettings = NonNullable<Settings['checks']>[number];
export type AgentSettings = NonNullable<Settings['agent']>;
export type ScmSettings = NonNullable<Settings['scm']>;
export type SandboxSettings = Exclude<NonNullable<Settings['sandbox']>, boolean>;
export type NotifySettings = Exclude<NonNullable<Settings['notify']>[number], string>;

/** Where a value comes from; later origins override earlier ones. */
export type Origin = 'default' | 'preset' | 'user' | 'file' | 'local' | 'flag';

export const SETTINGS_FILE = '.ralph/settings.json';
export const LOCAL_SETTINGS_FILE = '.ralph/settings.local.json';

/** The command-line option of each setting that has one: `--max-time`. */
export const FLAGS: Readonly<Record<string, string>> = Object.fromEntries(
  [...VALUES].flatMap(([path, { flag = '' }]) =>
    (/--[a-z-]+/.exec(flag) ?? []).map((option) => [path, option]),
  ),
);

/** Objects merge key by key; scalars and lists are replaced. */
export function mergeSettings(base: Settings, over: Settings): Settings {
  return mergeDeep(base, over);
}

/** The same for other objects. */
export function mergeDeep<T extends object>(base: T, over: object): T {
  const before = new Map<string, unknown>(Object.entries(base));
  const changed = Object.entries(over).flatMap(([key, value]: [string, unknown]): [string, unknown][] => {
    if (value === undefined) return [];
    const old = before.get(key);
    return [[key, isRecord(old) && isRecord(value) ? mergeDeep(old, value) : value]];
  });
  return Object.assign({}, base, Object.fromEntries(changed));
}

/** The values that are set, each under its full path: `agent.flags`. */
export function leaves(settings: object): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>();
  const add = (path: string, value: unknown): void => {
    if (!isRecord(value)) found.set(path, value);
    else
      for (const [key, part] of Object.entries(value))
        if (part !== undefined) add(path === '' ? key : `${path}.${key}`, part);
  };
  add('', settings);
  return found;
}

/** The object with one such value: the reverse of `leaves`. */
export function nested(path: string, value: unknown): Readonly<Record<string, unknown>> {
  const [first = '', ...rest] = path.split('.');
  return { [first]: rest.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) };
}
