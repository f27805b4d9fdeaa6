/** Reading what somebody else wrote: a field that is missing, or is something else, is empty and never an error. */
export type Json = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

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
