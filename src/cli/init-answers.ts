/** Parses the answers to the questions of `ralph init`. The caller repeats a question while there is a problem. */
import type { CheckSettings } from '../settings/settings.ts';
import { splitWords } from '../loop/words.ts';

export type Answer<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problem: string };

/** The program, and the flags typed after it. */
export function agentCommand(answer: string): Answer<readonly [string, ...string[]]> {
  const [program, ...flags] = splitWords(answer) ?? [];
  if (program !== undefined && program !== '') return { ok: true, value: [program, ...flags] };
  return { ok: false, problem: answer.trim() === '' ? 'Agent command is required' : OPEN_QUOTE };
}

const OPEN_QUOTE = 'Unclosed quote';

/** A program with arguments. */
export function command(answer: string, fallback: string): Answer<string> {
  const value = orElse(answer, fallback);
  return splitWords(value) === null ? { ok: false, problem: `  ${OPEN_QUOTE}` } : { ok: true, value };
}

/** Several commands, separated by commas. */
export function tasks(answer: string, fallback: string): Answer<readonly string[]> {
  const value = list(orElse(answer, fallback));
  return value.some((task) => splitWords(task) === null)
    ? { ok: false, problem: `  ${OPEN_QUOTE}` }
    : { ok: true, value };
}

/** The trimmed parts between commas, without empty ones. */
export function list(answer: string): readonly string[] {
  return answer
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** The commands between commas that a space follows, outside of quotes: one in `--ext .js,.ts` is part of its command. */
export function commands(answer: string): readonly string[] {
  const parts = answer.match(/(?:"[^"]*"|'[^']*'|,(?!\s)|[^,])+/g) ?? [];
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

export function iterations(answer: string): Answer<number> {
  const text = answer.trim();
  const value = text === '' ? 10 : Number(text);
  if (!/^[+-]?\d*$/.test(text) || !Number.isSafeInteger(value))
    return { ok: false, problem: 'Please enter a valid number' };
  return value < 1 ? { ok: false, problem: 'Must be greater than 0' } : { ok: true, value };
}

/** A limit in dollars; null for none. */
export function cost(answer: string): Answer<number | null> {
  const text = answer.trim().replace(/^\$/, '');
  if (text === '') return { ok: true, value: null };
  const value = Number(text);
  return Number.isFinite(value) && value > 0
    ? { ok: true, value }
    : { ok: false, problem: `Must be an amount greater than 0, such as 5 or 2.50; got "${answer.trim()}"` };
}

function orElse(answer: string, fallback: string): string {
  const value = answer.trim();
  return value === '' ? fallback : value;
}

/** The maximum length is that of `src/loop/validate.ts`. */
export function completionResponse(answer: string): Answer<string> {
  const value = orElse(answer, 'DONE');
  return value.length > 1000
    ? { ok: false, problem: 'Must have at most 1000 characters' }
    : { ok: true, value };
}

export function failAction(answer: string): Answer<NonNullable<CheckSettings['failAction']>> {
  const value = orElse(answer, 'APPEND').toUpperCase();
  return value === 'APPEND' || value === 'PREPEND' || value === 'REPLACE'
    ? { ok: true, value }
    : { ok: false, problem: '  Invalid action. Must be APPEND, PREPEND, or REPLACE' };
}

/** An empty answer is no. */
export function yesOrNo(answer: string): Answer<boolean> {
  const value = answer.trim().toLowerCase();
  if (['', 'n', 'no'].includes(value)) return { ok: true, value: false };
  return ['y', 'yes'].includes(value)
    ? { ok: true, value: true }
    : { ok: false, problem: 'Please answer y or n' };
}
