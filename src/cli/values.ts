import { UserError } from '../user-error.ts';

const UNITS: Readonly<Record<string, number>> = {
  '': 1000,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds of `90`, `90s`, `15m` or `2h`. */
export function parseDuration(option: string, text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text.trim());
  const unit = UNITS[match?.[2] ?? ''];
  if (match === null || unit === undefined) {
    throw new UserError(`${option} must be a time such as 90, 90s, 15m or 2h, got ${JSON.stringify(text)}`);
  }
  return Math.round(Number(match[1]) * unit);
}

const SIZES: Readonly<Record<string, number>> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/** Bytes of `1000`, `500k`, `20m` or `1g`. */
export function parseSize(option: string, text: string): number {
  const match = /^(\d+(?:\.\d+)?)([kmg])?b?$/i.exec(text.trim());
  const unit = SIZES[(match?.[2] ?? '').toLowerCase()];
  if (match === null || unit === undefined) {
    throw new UserError(`${option} must be a size such as 500k, 20m or 1g, got ${JSON.stringify(text)}`);
  }
  return Math.round(Number(match[1]) * unit);
}

export function parseWhole(option: string, text: string, least: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text.trim()) || value < least || !Number.isSafeInteger(value)) {
    throw new UserError(`${option} must be a whole number >= ${least}, got ${JSON.stringify(text)}`);
  }
  return value;
}
