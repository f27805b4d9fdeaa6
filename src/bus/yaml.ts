import { CORE_SCHEMA, load } from 'js-yaml';

/** A header that another tool wrote as YAML; null if it is none. A file of its own, because the package bundles the parser. */
export function parseYamlHeader(text: string): unknown {
  try {
    return load(text, { schema: CORE_SCHEMA });
  } catch {
    return null;
  }
}
