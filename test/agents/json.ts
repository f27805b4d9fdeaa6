/** The value at a path in parsed JSON; undefined if there is none. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce((found, key) => (isRecord(found) ? found[key] : undefined), value);
}

/** The items of a list; empty if the value is not a list. */
export function items(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
