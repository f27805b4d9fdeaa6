/** The options of the command line, and the settings that they stand for. */
import { closest } from '../settings/closest.ts';
import { mergeDeep, nested, type Settings } from '../settings/settings.ts';
import {
  choicesOf,
  type Group,
  GROUPS,
  type Kinds,
  type LimitFlags,
  type LoopFlags,
  type OutputFlags,
  type Row,
  valuesIn,
} from '../settings/rows.ts';
import { parseAmount, parseDuration, parseNames, parseSize, parseWhole } from '../settings/values.ts';
import { UserError } from '../user-error.ts';

export interface ViewOptions extends OutputFlags {
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  readonly json?: boolean;
  readonly report?: string;
  readonly reportFile?: string;
  /** The loop's folder is removed after the loop, so the final report does not name it. */
  readonly isTemporary?: true;
}

export interface LimitOptions extends ViewOptions, LimitFlags {
  readonly cwd?: string;
  readonly maximumIterations?: string;
}

export interface RunOptions extends LimitOptions, LoopFlags {
  readonly prompt?: string;
  readonly promptFile?: string;
  readonly name?: string;
  readonly tag?: readonly string[];
  readonly env?: readonly string[];
  readonly fresh?: boolean;
  readonly trust?: boolean;
  readonly detach?: boolean;
  /** Print what a loop would start with, and start nothing. */
  readonly dryRun?: boolean;
  /** False for a loop that is no child of the run that starts it. */
  readonly child?: boolean;
}

/** The settings that the options stand for; with `groups` only those. */
export function flagSettings(options: object, groups: readonly Group[] = EVERY_GROUP): Settings {
  const given = new Map<string, unknown>(Object.entries(options));
  let settings: Settings = {};
  for (const group of groups)
    for (const [path, row] of valuesIn(GROUPS[group])) {
      const flags = [row.flag, row.secondFlag].flatMap((flag) => (flag === undefined ? [] : [longOf(flag)]));
      const value = flags.map((flag) => given.get(keyOf(flag))).find((one) => one !== undefined);
      // Document 001: an empty response counts as not given.
      if (value === undefined || (value === '' && row.type === 'text' && row.blankIsDefault === true))
        continue;
      settings = mergeDeep(settings, nested(path, settingFor(row, flags[0] ?? '', value)));
    }
  return settings;
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of the record
const EVERY_GROUP = Object.keys(GROUPS) as readonly Group[];

/** The long form of an option: `--max-iterations`. */
export function longOf(flag: string): string {
  return /--[a-z-]+/.exec(flag)?.[0] ?? flag;
}

/** Where commander puts the value of an option: `maxIterations`. */
function keyOf(flag: string): string {
  return flag.slice(2).replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** What the option of a row stands for. */
function settingFor({ type, short }: Row, flag: string, value: unknown): unknown {
  if (Array.isArray(value)) {
    if (type === 'variable') return parseNames(flag, value.map(String));
    return short === undefined ? value : value.map((item: unknown) => ({ [short]: item }));
  }
  if (typeof value !== 'string' || type === undefined) return value;
  const choices = choicesOf(type);
  return choices === undefined ? (PARSE[type]?.(flag, value) ?? value) : oneOf(flag, value, choices);
}

/** How an option is read, where its text is not the value. */
const PARSE: { readonly [Kind in keyof Kinds]?: (flag: string, text: string) => Kinds[Kind] } = {
  whole: (flag, text) => parseWhole(flag, text, 0),
  count: (flag, text) => parseWhole(flag, text, 1),
  iterations: (flag, text) => parseWhole(flag, text, null),
  amount: parseAmount,
  time: timeIn,
  timeout: timeIn,
  size: parseSize,
};

/** The text as given, if it is a valid time. */
function timeIn(flag: string, text: string): string {
  parseDuration(flag, text);
  return text.trim();
}

/** The options, with the output settings filled in. */
export function viewOf<T extends ViewOptions>(
  options: T,
  { streamAgentOutput, emoji, timestamps, outputLines, outputChars }: Settings,
): T {
  const lines = outputLines === undefined ? {} : { outputLines: String(outputLines) };
  const chars = outputChars === undefined ? {} : { outputChars: String(outputChars) };
  return mergeDeep(options, { streamAgentOutput, emoji, timestamps, ...lines, ...chars });
}

/** Whether there is a plan to work through, which makes a task unnecessary. */
export function hasPlan({ plan }: RunOptions): boolean {
  return typeof plan === 'string' && plan !== '';
}

export function oneOf<const Value extends string>(
  option: string,
  text: string,
  values: readonly Value[],
): Value {
  const known = values.find((value) => value === text);
  if (known !== undefined) return known;
  const near = closest(text, values);
  const hint = near === null ? '' : ` (did you mean ${near}?)`;
  throw new UserError(`${option} must be one of ${values.join(', ')}, got ${JSON.stringify(text)}${hint}`);
}
