/** What a row of the table can have, and what follows from the rows: types, paths and sentences. */
import { NOTICE_KINDS, type NoticeKind } from '../loop/notice.ts';
import {
  FAIL_ACTIONS,
  type FailAction,
  ON_PROTECTED_CHANGE,
  type OnProtectedChange,
  PRESET_NAMES,
  type PresetName,
  type Until,
  UNTILS,
} from '../loop/policy.ts';
import { TABLE } from './table.ts';

export interface Row {
  /** Absent for an object. */
  readonly type?: keyof Kinds;
  /** What messages call the items of a list; absent for a single value. */
  readonly list?: string;
  /** The settings of an object. */
  readonly parts?: Rows;
  /** The part that a plain string sets: `"npm test"` is `{ "command": "npm test" }`. */
  readonly short?: string;
  readonly required?: true;
  /** A second name, from document 001. A file that uses one and names no preset is for the preset of that document. */
  readonly alias?: string;
  /** The option, in the syntax of commander. */
  readonly flag?: string;
  /** A second option that the help does not show. */
  readonly secondFlag?: string;
  /** What `--no-…` does. */
  readonly off?: string;
  /** The commands with the option; absent for all that take the options of its group. */
  readonly only?: readonly ('run' | 'loop' | 'spawn')[];
  /** The sentence of the help and of the pages, without a capital, a full stop and the default. */
  readonly says: string;
  /** More sentences for the pages. */
  readonly more?: string;
  /** The default of a setting that is not part of the policy; that of all others is in the presets. */
  readonly default?: boolean | number | string | readonly [];
  /** The default in words, where the value says too little. */
  readonly byDefault?: string;
  /** What 0 means. With `unlimited`, as in every `timeout`, the policy has null for it. */
  readonly zero?: string;
  /** Whether 0 and "" in the shared file mean the default, as in document 001. */
  readonly blankIsDefault?: true;
  /** The value with which the first page of the help shows the option, empty for a switch; absent for all that are not on that page. */
  readonly everyday?: string;
}

/** What 0 means in a setting. */
export function zeroOf({ type, zero }: Row): string | undefined {
  return type === 'timeout' ? 'unlimited' : zero;
}

export type Rows = Readonly<Record<string, Row>>;

/** Seconds, or a string with a unit: `90s`, `15m`, `2h`. */
export type Time = number | string;
/** Bytes, or a string with a unit: `500k`, `20m`, `1g`. */
export type Size = number | string;

export const PROMPT_WAYS = ['stdin', 'file', 'argument'] as const;

/** What tools of `ralph mcp` can do to loops. */
export const MCP_CHANGES = ['start', 'pause', 'resume', 'stop', 'tell', 'answer'] as const;
export type McpChange = (typeof MCP_CHANGES)[number];

/** The types of values. `schema.ts` says what a file may have, and `cli/options.ts` how the command line writes it. */
export interface Kinds {
  text: string;
  'any-text': string;
  variable: string;
  'yes-no': boolean;
  'file-or-false': string | false;
  whole: number;
  count: number;
  iterations: number;
  amount: number;
  time: Time;
  timeout: Time;
  size: Size;
  preset: PresetName;
  until: Until;
  'protected-change': OnProtectedChange;
  'fail-action': FailAction;
  'prompt-way': (typeof PROMPT_WAYS)[number];
  'notice-kind': NoticeKind;
  'notice-commands': Readonly<Partial<Record<NoticeKind, string>>>;
  'mcp-change': McpChange;
}

/** The type of an object with these rows. */
export type SettingsIn<R> = {
  readonly [Key in keyof R as R[Key] extends { required: true } ? Key : never]: ValueOf<R[Key]>;
} & {
  readonly [Key in keyof R as R[Key] extends { required: true } ? never : Key]?: ValueOf<R[Key]> | undefined;
};

type ValueOf<R> = R extends { readonly list: string } ? readonly ItemOf<R>[] : ItemOf<R>;

type ItemOf<R> =
  | (R extends { readonly type: infer Kind extends keyof Kinds } ? Kinds[Kind] : never)
  | (R extends { readonly parts: infer Parts } ? SettingsIn<Parts> : never);

/** The options that set such an object, as commander gives them. */
export type OptionsIn<R> = {
  readonly [Key in keyof R as R[Key] extends { flag: string; type: string } ? Key : never]?: GivenFor<R[Key]>;
};

type GivenFor<R> = R extends { list: string }
  ? readonly string[]
  : R extends { type: 'yes-no' }
    ? boolean
    : R extends { type: 'file-or-false' }
      ? string | false
      : string;

export type PathIn<R> = {
  [Key in keyof R & string]: R[Key] extends { readonly parts: infer Parts }
    ?
        | (R[Key] extends { readonly list: string } | { readonly type: string } ? Key : never)
        | (R[Key] extends { readonly list: string } ? never : `${Key}.${PathIn<Parts>}`)
    : Key;
}[keyof R & string];

/** The settings of a loop; a program that uses the library has the same. */
export interface LoopRows
  extends
    SettingsIn<Groups['task']>,
    SettingsIn<Groups['agent']>,
    SettingsIn<Groups['checks']>,
    SettingsIn<Groups['limits']> {}

/** The settings of the front that shows the loop. */
export interface FrontRows
  extends
    SettingsIn<Groups['file']>,
    SettingsIn<Groups['notices']>,
    SettingsIn<Groups['assistants']>,
    SettingsIn<Groups['output']> {}

export interface OutputFlags extends OptionsIn<Groups['output']> {}
export interface LimitFlags extends OptionsIn<Groups['limits']> {}
export interface LoopFlags
  extends
    OptionsIn<Groups['task']>,
    OptionsIn<Groups['agent']>,
    OptionsIn<Groups['checks']>,
    OptionsIn<Groups['notices']> {}

type Groups = typeof TABLE;
export type Group = keyof Groups;

/** The path of every setting that has a value of its own: `maxTime`, `agent.name`. */
export type SettingPath = { [Name in Exclude<Group, 'file'>]: PathIn<Groups[Name]> }[Exclude<Group, 'file'>];

/** The groups of `LoopRows`. */
export const LOOP_GROUPS: readonly Group[] = ['task', 'agent', 'checks', 'limits'];

/** The rows by their groups, in the order of the pages. */
export const GROUPS: Readonly<Record<Group, Rows>> = TABLE;

/** All rows of the first level. */
export const ROWS: Rows = Object.fromEntries(Object.values(GROUPS).flatMap((rows) => Object.entries(rows)));

/** The rows with a value of their own below these, by their paths; parts of items are `checks[].hint`. */
export function valuesIn(rows: Rows, before = ''): ReadonlyMap<string, Row> {
  const found = new Map<string, Row>();
  for (const [key, row] of Object.entries(rows)) {
    const { type, list, parts = {} } = row;
    if (type !== undefined || list !== undefined) found.set(before + key, row);
    const inner = valuesIn(parts, `${before}${key}${list === undefined ? '' : '[]'}.`);
    for (const [path, part] of inner) found.set(path, part);
  }
  return found;
}

/** The rows with a value of their own, by their paths. */
export const VALUES: ReadonlyMap<string, Row> = valuesIn(ROWS);

/** The values of the types that have only some. */
export const CHOICES: {
  readonly preset: typeof PRESET_NAMES;
  readonly until: typeof UNTILS;
  readonly 'protected-change': typeof ON_PROTECTED_CHANGE;
  readonly 'fail-action': typeof FAIL_ACTIONS;
  readonly 'prompt-way': typeof PROMPT_WAYS;
  readonly 'notice-kind': typeof NOTICE_KINDS;
  readonly 'mcp-change': typeof MCP_CHANGES;
} = {
  preset: PRESET_NAMES,
  until: UNTILS,
  'protected-change': ON_PROTECTED_CHANGE,
  'fail-action': FAIL_ACTIONS,
  'prompt-way': PROMPT_WAYS,
  'notice-kind': NOTICE_KINDS,
  'mcp-change': MCP_CHANGES,
};

/** The only values of a type; undefined if it has others. */
export function choicesOf(type: keyof Kinds | undefined): readonly string[] | undefined {
  return Object.entries(CHOICES).find(([kind]) => kind === type)?.[1];
}

/** What pages say about a setting: whole sentences. */
export function sentences(row: Row): string {
  const { says, more, alias } = row;
  const zero = zeroOf(row);
  const all = [
    `${says.slice(0, 1).toUpperCase()}${says.slice(1)}${zero === undefined ? '' : ` (0 = ${zero})`}.`,
    ...(more === undefined ? [] : [more]),
    ...(alias === undefined ? [] : [`Alias: \`${alias}\`.`]),
  ];
  // A page would take a tag for HTML.
  return all.join(' ').replaceAll(/<\w+>…<\/\w+>/g, '`$&`');
}
