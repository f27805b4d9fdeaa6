import { isRecord } from '../loop/shape.ts';

export { isRecord };

/** JSON from another program: a field that is missing or has the wrong type is read as empty, never as an error. */
export type Json = Readonly<Record<string, unknown>>;

export function record(value: unknown): Json {
  return isRecord(value) ? value : {};
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

export function number(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** Converts seconds since 1970 to milliseconds. */
export function momentOf(seconds: unknown): number | null {
  const stated = number(seconds);
  return stated === null ? null : stated * 1000;
}

/** A count; 0 for anything but a positive number. */
export function count(value: unknown): number {
  return Math.max(0, number(value) ?? 0);
}

/**
 * The JSON strings in a text. One that is not closed reaches to the end of the text: otherwise the search would begin again at each
 * quotation mark in it.
 */
export const JSON_STRINGS: RegExp = /"[^"\\]*(?:\\[^][^"\\]*)*(?:"|\\?$)/g;

/** Parses a text as a JSON object; an empty one if it is not one. */
export function parsed(value: unknown): Json {
  try {
    return record(JSON.parse(text(value)));
  } catch {
    return {};
  }
}
