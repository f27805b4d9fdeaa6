/** Limits as people write them for a loop that exists: `max-cost=5`. */
import type { Control } from '../loop/event.ts';
import { UserError } from '../user-error.ts';
import { closest } from './closest.ts';
import { unchangedLimit } from './policy.ts';
import { parseAmount, parseDuration, parseSize, parseWhole } from './values.ts';

/** The limits that these words set. */
export function limitsFrom(words: readonly string[]): SetLimits {
  return Object.fromEntries(words.flatMap((text) => Object.entries(parseSetting(text))));
}

type SetLimits = Extract<Control, { type: 'set' }>['limits'];

const SETTINGS: Readonly<Record<string, (key: string, value: string) => SetLimits>> = {
  'max-iterations': (key, value) => ({ iterations: parseWhole(key, value, 1) }),
  'max-time': (key, value) => ({ timeMs: parseDuration(key, value) }),
  'max-failures': (key, value) => ({ failures: parseWhole(key, value, 1) }),
  'max-limit-waits': (key, value) => ({ limitWaits: parseWhole(key, value, 0) }),
  'max-attempts-per-item': (key, value) => ({ attemptsPerItem: parseWhole(key, value, 1) }),
  'max-unchanged': (key, value) => ({ unchanged: unchangedLimit(parseWhole(key, value, 0)) ?? null }),
  'max-output': (key, value) => ({ outputBytes: parseSize(key, value) }),
  'max-tokens': (key, value) => ({ tokens: parseWhole(key, value, 1) }),
  'max-cost': (key, value) => ({ costUsd: parseAmount(key, value) }),
};

export const SET_KEYS: readonly string[] = Object.keys(SETTINGS);

function parseSetting(text: string): SetLimits {
  const at = text.indexOf('=');
  const key = at < 0 ? text : text.slice(0, at);
  const parse = SETTINGS[key];
  if (at < 0 || parse === undefined) {
    const keys = SET_KEYS;
    const meant = parse === undefined ? closest(key, keys) : null;
    const hint = meant === null ? '' : ` (did you mean ${meant}?)`;
    throw new UserError(
      `expected KEY=VALUE with KEY one of ${keys.join(', ')}, got ${JSON.stringify(text)}${hint}`,
    );
  }
  return parse(key, text.slice(at + 1));
}
