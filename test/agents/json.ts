/** The value at the end of a path into parsed JSON; undefined where the path leads nowhere. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce((found, key) => (isRecord(found) ? found[key] : undefined), value);
}

/** The items of a list; none where there is no list. */
export function items(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
