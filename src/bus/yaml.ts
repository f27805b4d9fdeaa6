/** YAML of other programs. A file of its own, because the package bundles the parser. */
import { CORE_SCHEMA, dump, load } from 'js-yaml';

/** A header that another tool wrote; null if it is none. */
export function parseYamlHeader(text: string): unknown {
  try {
    return load(text, { schema: CORE_SCHEMA, maxAliases: 0 });
  } catch {
    return null;
  }
}

/** Throws if it is no YAML, or has aliases: a few of them make a value too large to be read or written. */
export function parseYaml(text: string): unknown {
  return load(text, { maxAliases: 0 });
}

export function toYaml(value: object): string {
  return dump(value, { lineWidth: -1, noRefs: true });
}
