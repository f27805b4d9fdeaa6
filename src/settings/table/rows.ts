/** What a row of the table can have, and the types that follow from it. */
import type { NoticeKind } from '../../loop/notice.ts';
import type { FailAction, OnProtectedChange, PresetName, Until } from '../../loop/policy.ts';

export interface Row {
  /** Absent for an object. */
  readonly type?: keyof Kinds;
  /** What messages call the items of a list; absent for a single value. */
  readonly list?: string;
  /** The settings of an object. */
  readonly parts?: Rows;
  /** The part of such an object that a text in its place stands for. */
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
