/** YAML of other programs. A file of its own, because the package bundles the parser. */
import { CORE_SCHEMA, dump, load } from 'js-yaml';

/** A header that another tool wrote; null if it is none. */
export function parseYamlHeader(text: string): unknown {
  try {
    return load(text, { schema: CORE_SCHEMA });
  } catch {
    return null;
  }
}

/** Throws if it is no YAML. */
export function parseYaml(text: string): unknown {
  return load(text);
}

export function toYaml(value: object): string {
  return dump(value, { lineWidth: -1, noRefs: true });
}
