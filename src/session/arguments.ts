/**
 * What is written after `/ralph`: `"task" [--max-iterations=N] [--completion-promise=TEXT] [--check "command"] …`
 *
 * 1. The task is data: it is cut out of the text and never changed, except that `\"` between double quotes is `"` (and `\'`
 *    between single quotes is `'`).
 * 2. Whatever cannot be understood is an error that names it; nothing is dropped or guessed.
 */
import { parseAmount, parseDuration, parseWhole } from '../settings/values.ts';
import { flag, list, nonBlank, optional, rule, shortText, show, whole, type Rule } from '../loop/shape.ts';
import { UserError } from '../user-error.ts';

export interface RalphArguments {
  readonly prompt: string;
  readonly maxIterations?: number;
  readonly completionPromise?: string;
  readonly checks: readonly string[];
  /** Settings by their flags: `--max-time`, `--max-cost`, `--max-tokens`. */
  readonly maxTime?: string;
  readonly maxCost?: number;
  readonly maxTokens?: number;
  /** Not an option of `/ralph`: the promise counts only on the last line of an answer. */
  readonly strict?: boolean;
}

export function parseRalphArguments(text: string): RalphArguments {
  refuseWords(text.trim());
  const { task, rest } = cutTask(text.trim());
  let asked: RalphArguments = { prompt: task === '' ? DEFAULT_TASK : task, checks: [] };
  let left = rest.trimStart();
  while (left !== '') {
    const { name, value, after } = cutOption(left);
    asked = OPTIONS[name]?.(asked, value, name) ?? asked;
    left = after.trimStart();
  }
  return asked;
}

const DEFAULT_TASK = 'Complete the task as instructed';

/** A person who types `/ralph stop` wants no loop with this task, which would also replace the running one. */
function refuseWords(text: string): void {
  if (/^(?:-h|help)$/.test(text)) throw usage();
  const instead = /^(?:stop|cancel)$/.test(text)
    ? 'cancel-ralph ends'
    : text === 'status'
      ? 'ralph-status shows'
      : null;
  if (instead !== null)
    throw new UserError(
      `the task is only ${show(text)}; ${instead} the loop of a session (put the task in quotes if you mean it)`,
    );
}

function usage(): UserError {
  return new UserError(
    'usage: "task" [--check "command"] [--max-iterations=N] [--completion-promise=TEXT] [--max-time=2h] [--max-cost=5] [--max-tokens=N]',
  );
}

type Option = (asked: RalphArguments, value: string, name: string) => RalphArguments;

const OPTIONS: Readonly<Record<string, Option>> = {
  '--max-iterations': (asked, value, name) => ({ ...asked, maxIterations: parseWhole(name, value, 1) }),
  '--completion-promise': (asked, value, name) => ({
    ...asked,
    completionPromise: nonBlankValue(name, value),
  }),
  '--check': (asked, value, name) => ({ ...asked, checks: [...asked.checks, nonBlankValue(name, value)] }),
  '--max-time': (asked, value, name) => {
    parseDuration(name, value);
    return { ...asked, maxTime: value.trim() };
  },
  '--max-cost': (asked, value, name) => ({ ...asked, maxCost: parseAmount(name, value) }),
  '--max-tokens': (asked, value, name) => ({ ...asked, maxTokens: parseWhole(name, value, 1) }),
  '--strategy': (asked, value, name) => {
    if (value === 'continue') return asked;
    // Elsewhere `reset` means a fresh session per iteration; ignoring it would keep the context that was to be dropped.
    if (value === 'reset') {
      throw new UserError(
        `${name}=reset gives every iteration a fresh session, which a loop inside a session cannot do; ` +
          'leave it out to stay in this session, or start the loop in a terminal with: ralph run',
      );
    }
    throw new UserError(`${name} must be reset or continue, got ${show(value)}`);
  },
};

function nonBlankValue(name: string, value: string): string {
  if (value.trim() !== '') return value.trim();
  throw new UserError(`${name} must not be empty, got ${show(value)}`);
}

/** The task, and the text after it: nothing, or options. */
function cutTask(text: string): { readonly task: string; readonly rest: string } {
  const quoted = cutQuotedTask(text);
  if (quoted !== null) return quoted;
  const [, short] = SHORT_OPTION.exec(text) ?? [];
  if (short !== undefined) throw unknownOption(short);
  const [, dash = '', name = ''] = LONG_DASH.exec(text) ?? [];
  if (dash !== '')
    throw new UserError(`${show(dash + name)} begins with a long dash; type two hyphens: --${name}`);
  const at = text.startsWith('--') ? 0 : text.search(OPTIONS_BEGIN);
  return at < 0 ? { task: text, rest: '' } : { task: text.slice(0, at).trim(), rest: text.slice(at) };
}

/** `-m` and the like after a task in quotes. */
const SHORT_OPTION = /^(?:"[^"]*"|'[^']*')\s+(-[a-z])(?=[=\s]|$)/i;

/** ` --`, or an option on a line of its own; `---` on a line of its own is a rule of a Markdown task. */
const OPTIONS_BEGIN = /[^\S\n]--|\s--[a-z]/i;

/**
 * A task in quotes ends at the quote that only options follow, so that it may contain quotes itself. Null if the first
 * quotes are around a part of the task, as in `"foo" and "bar" must match`.
 */
function cutQuotedTask(text: string): { readonly task: string; readonly rest: string } | null {
  const quote = text[0];
  if (quote !== '"' && quote !== "'") return null;
  const quotes = closingQuotes(text);
  const first = quotes[0] ?? 0;
  if (/^\S\s+(?!--)/.test(text.slice(first)) && /\S/.test(text[first - 1] ?? '')) return null;
  const ends = quotes.filter((at) => /^(?:$|\s+--)/.test(text.slice(at + 1)));
  const end = ends.find((at) => areOptions(text.slice(at + 1))) ?? ends[0];
  if (end === undefined) return null;
  const task = text.slice(1, end);
  // The quote after the task is missing: options would become a part of it.
  if (quotes.indexOf(end) % 2 === 1 && OPTION_WITH_QUOTE.test(task))
    throw new UserError(
      `the quotes do not match in ${show(text)}; close the quote after the task, and write \\${quote} for one inside it`,
    );
  return { task: unescaped(task, quote).trim(), rest: text.slice(end + 1) };
}

function areOptions(rest: string): boolean {
  return rest === '' || KNOWN_OPTION.test(rest) || ONLY_OPTIONS.test(rest);
}

const NAMES = Object.keys(OPTIONS).map((name) => name.slice('--'.length));
const KNOWN_OPTION = new RegExp(String.raw`^\s+--(?:${NAMES.join('|')})(?:[=\s]|$)`);
const OPTION_WITH_QUOTE = new RegExp(String.raw`\s--(?:${NAMES.join('|')})[=\s]\s*["']`);
/** Some keyboards and editors make one dash of two hyphens. */
const LONG_DASH = new RegExp(String.raw`(?:^|\s)([\u2013\u2014])(${NAMES.join('|')})(?=[=\s]|$)`);
/** Options with whole values, known or not. */
const ONLY_OPTIONS = /^(?:\s+--[\w-]+(?:[=\s]\s*(?:"[^"]*"|'[^']*'|[^\s"'-][^\s"']*))?)+$/;

/** The option at the beginning of a text: `--name=value` or `--name value`, the value in quotes or up to the next space. */
function cutOption(text: string): { readonly name: string; readonly value: string; readonly after: string } {
  const [, name = ''] = /^(--[^\s=]*)/.exec(text) ?? [];
  if (name === '') {
    const [word = ''] = text.split(/\s/);
    throw new UserError(
      `unexpected ${show(word)} after the options: write the task first, and put values with spaces in quotes`,
    );
  }
  if (name === '--help') throw usage();
  if (!Object.hasOwn(OPTIONS, name)) throw unknownOption(name);
  const given = /^(?:=|\s+(?!--))/.exec(text.slice(name.length));
  const found = given === null ? null : cutValue(text.slice(name.length + given[0].length));
  if (found === null) throw new UserError(`${name} needs a value, got nothing`);
  return { name, ...found };
}

function unknownOption(name: string): UserError {
  const known = Object.keys(OPTIONS).filter((one) => one !== '--strategy');
  return new UserError(
    `unknown option ${name}, expected ${known.join(', ')}; put a task that contains "--" in quotes`,
  );
}

/** A quoted value ends at the quote before the next option, else at the first one before a space. */
function cutValue(text: string): { readonly value: string; readonly after: string } {
  const quote = text[0] ?? '';
  if (/[“”„‘’]/.test(quote)) throw new UserError(`the quote ${quote} is not understood; type " instead`);
  if (quote !== '"' && quote !== "'") {
    const [value = ''] = /^\S*/.exec(text) ?? [];
    return { value, after: text.slice(value.length) };
  }
  const ends = closingQuotes(text).filter((at) => /^(?:\s|$)/.test(text.slice(at + 1)));
  const end = ends.find((at) => /^(?:$|\s+(?:--|"[^"]*"$|'[^']*'$))/.test(text.slice(at + 1))) ?? ends[0];
  if (end === undefined) throw new UserError(`the quote is not closed in ${show(text)}`);
  return { value: unescaped(text.slice(1, end), quote), after: text.slice(end + 1) };
}

/** Positions of the quote that a text begins with, without those behind a backslash. */
function closingQuotes(text: string): readonly number[] {
  const found: number[] = [];
  for (let at = 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === text[0]) found.push(at);
  }
  return found;
}

function unescaped(text: string, quote: string): string {
  return text.replaceAll(`\\${quote}`, () => quote);
}

/** A task, a check or a name: longer than any of them is. */
export const text: Rule = (value, field) => {
  const blank = nonBlank(value, field);
  return blank.length > 0 ? blank : shortText(2 ** 20)(value, field);
};

const amount: Rule = rule(
  'a number > 0',
  (value) => typeof value === 'number' && Number.isFinite(value) && value > 0,
);

/** The shape of what a loop is asked to do, in a step of a plugin and in the state of a session. */
export const ARGUMENTS: Readonly<Record<keyof RalphArguments, Rule>> = {
  prompt: text,
  maxIterations: optional(whole(1)),
  completionPromise: optional(text),
  checks: list(text),
  maxTime: optional(text),
  maxCost: optional(amount),
  maxTokens: optional(whole(1)),
  strict: optional(flag),
};
