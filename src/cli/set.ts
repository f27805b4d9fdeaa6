import { closest } from '../settings/closest.ts';
import { unchangedLimit } from '../settings/policy.ts';
import { parseAmount, parseDuration, parseSize, parseWhole } from '../settings/values.ts';
import type { Control } from '../loop/event.ts';
import { loopAndWords } from './chosen-loop.ts';
import { hall } from './hall.ts';
import { UserError } from '../user-error.ts';
import { tellSent } from './control.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph set`: changes the limits of a loop. */
export async function set(given: readonly string[], options: { readonly cwd?: string }): Promise<number> {
  const loops = hall();
  const { loop, words: settings } = await loopAndWords(loops, given, workspaceOf(options), 'set');
  const limits: SetLimits = Object.fromEntries(
    settings.flatMap((text) => Object.entries(parseSetting(text))),
  );
  const sent = await loops.send(loop, { type: 'set', limits });
  return tellSent(loop, sent, `set for ${loop.name}: ${settings.join(' ')}`);
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
