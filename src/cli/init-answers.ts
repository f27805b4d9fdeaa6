/** What the answers to `ralph init` mean. Whoever asks repeats the question while there is a problem. */
import type { CheckSettings } from '../config/config.ts';
import { splitWords } from '../loop/words.ts';

export type Answer<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problem: string };

/** The program, and what was typed behind it: that belongs to its flags. */
export function agentCommand(answer: string): Answer<readonly [string, ...string[]]> {
  const [program, ...flags] = splitWords(answer) ?? [];
  if (program !== undefined && program !== '') return { ok: true, value: [program, ...flags] };
  return { ok: false, problem: answer.trim() === '' ? 'Agent command is required' : OPEN_QUOTE };
}

const OPEN_QUOTE = 'Every quote must be closed';

/** Words for a program. */
export function command(answer: string, otherwise: string): Answer<string> {
  const value = orElse(answer, otherwise);
  return splitWords(value) === null ? { ok: false, problem: `  ${OPEN_QUOTE}` } : { ok: true, value };
}

/** Several of them. */
export function tasks(answer: string, otherwise: string): Answer<readonly string[]> {
  const value = list(orElse(answer, otherwise));
  return value.some((task) => splitWords(task) === null)
    ? { ok: false, problem: `  ${OPEN_QUOTE}` }
    : { ok: true, value };
}

/** Parts between commas, without the blanks around them; those that are nothing do not count. */
export function list(answer: string): readonly string[] {
  return answer
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

export function iterations(answer: string): Answer<number> {
  const text = answer.trim();
  const value = text === '' ? 10 : Number(text);
  if (!/^[+-]?\d*$/.test(text) || !Number.isSafeInteger(value))
    return { ok: false, problem: 'Please enter a valid number' };
  return value < 1 ? { ok: false, problem: 'Must be greater than 0' } : { ok: true, value };
}

function orElse(answer: string, otherwise: string): string {
  const value = answer.trim();
  return value === '' ? otherwise : value;
}

/** As long as any that a loop can look for (`src/loop/validate.ts`). */
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

/** Nothing is no. */
export function yesOrNo(answer: string): Answer<boolean> {
  const value = answer.trim().toLowerCase();
  if (['', 'n', 'no'].includes(value)) return { ok: true, value: false };
  return ['y', 'yes'].includes(value)
    ? { ok: true, value: true }
    : { ok: false, problem: 'Please answer y or n' };
}
