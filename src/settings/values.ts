import { isTmuxName } from '../loop/names.ts';
import { UserError } from '../user-error.ts';

const UNITS: Readonly<Record<string, number>> = {
  '': 1000,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

export const DURATION: RegExp = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/;

/** Milliseconds of `90`, `90s`, `15m` or `2h`. */
export function parseDuration(option: string, text: string): number {
  const match = DURATION.exec(text.trim());
  const unit = UNITS[match?.[2] ?? ''];
  if (match === null || unit === undefined) {
    throw new UserError(`${option} must be a time such as 90, 90s, 15m or 2h, got ${JSON.stringify(text)}`);
  }
  return Math.round(Number(match[1]) * unit);
}

const SIZES: Readonly<Record<string, number>> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

export const SIZE: RegExp = /^(\d+(?:\.\d+)?)([kmgKMG])?[bB]?$/;

/** Bytes of `1000`, `500k`, `20m` or `1g`. */
export function parseSize(option: string, text: string): number {
  const match = SIZE.exec(text.trim());
  const unit = SIZES[(match?.[2] ?? '').toLowerCase()];
  if (match === null || unit === undefined) {
    throw new UserError(`${option} must be a size such as 500k, 20m or 1g, got ${JSON.stringify(text)}`);
  }
  return Math.round(Number(match[1]) * unit);
}

/** A whole number of at least `min`; with null the preset decides later how small it may be. */
export function parseWhole(option: string, text: string, min: number | null): number {
  const value = Number(text);
  if (!/^\d+$/.test(text.trim()) || value < (min ?? 0) || !Number.isSafeInteger(value)) {
    const which = min === null ? 'such as 10' : `>= ${min}`;
    throw new UserError(`${option} must be a whole number ${which}, got ${JSON.stringify(text)}`);
  }
  return value;
}

/** Dollars of `5`, `0.50` or `$5`. */
export function parseAmount(option: string, text: string): number {
  const stated = /^\$?(\d+(?:\.\d+)?|\.\d+)$/.exec(text.trim())?.[1];
  const value = Number(stated);
  if (!Number.isFinite(value) || value <= 0)
    throw new UserError(`${option} must be an amount > 0 such as 5 or 0.50, got ${JSON.stringify(text)}`);
  return value;
}

/** Names of environment variables. */
export function parseNames(option: string, names: readonly string[]): readonly string[] {
  const wrong = names.find((name) => !VARIABLE.test(name));
  if (wrong === undefined) return names;
  throw new UserError(
    `${option} must be the name of an environment variable, got ${JSON.stringify(wrong.split('=')[0])}`,
  );
}

export const VARIABLE: RegExp = /^[A-Za-z_]\w*$/;

/** `KEY=VALUE` pairs as an environment. */
export function parseVariables(option: string, pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      const name = pair.slice(0, Math.max(0, at));
      if (!VARIABLE.test(name)) {
        // The value may be a secret.
        const shown = JSON.stringify(at < 0 ? pair : `${name}=…`);
        throw new UserError(
          `${option} must be KEY=VALUE, and KEY the name of an environment variable, got ${shown}`,
        );
      }
      return [name, pair.slice(at + 1)];
    }),
  );
}

/** A name for a session or a socket of tmux. */
export function parseTmuxName(option: string, name: string): string {
  if (isTmuxName(name)) return name;
  throw new UserError(
    `${option} must be a name of letters, digits, "-" and "_", got ${JSON.stringify(name)}`,
  );
}

/** Words that a loop can be found by. */
export function parseTags(option: string, tags: readonly string[]): readonly string[] {
  const wrong = tags.find((tag) => !TAG.test(tag));
  if (wrong === undefined) return [...new Set(tags)];
  throw new UserError(
    `${option} must be a word of 1 to 100 characters without spaces and commas, got ${JSON.stringify(wrong)}`,
  );
}

const TAG = /^[^\s,\p{C}]{1,100}$/u;
