import { isRecord } from '../loop/shape.ts';

export { isRecord };

/** Reading what somebody else wrote: a field that is missing, or is something else, is empty and never an error. */
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

/** Seconds since 1970, as milliseconds. */
export function momentOf(seconds: unknown): number | null {
  const stated = number(seconds);
  return stated === null ? null : stated * 1000;
}

/** How many; nothing else than a number of things counts. */
export function count(value: unknown): number {
  return Math.max(0, number(value) ?? 0);
}

/** The record that a text holds; an empty one if it holds none. */
export function parsed(value: unknown): Json {
  try {
    return record(JSON.parse(text(value)));
  } catch {
    return {};
  }
}
