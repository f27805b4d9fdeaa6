// Which source files are loaded together and therefore bundled into one file.
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Groups source files by the parts of the command that need them: each part loads what it needs, in few files, and nothing else. A part
 * is a list of files with everything that they import statically.
 */
export function together(parts) {
  const needed = new Map();
  for (const [part, files] of Object.entries(parts))
    for (const file of withImports(files)) needed.set(file, [...(needed.get(file) ?? []), part]);
  const names = new Map([...needed].map(([file, by]) => [file, by.join('-')]));
  return [...new Set(names.values())].map((name) => ({
    name,
    test: (id) => names.get(id) === name,
    // What a file imports is needed by at least as many parts. The bundler puts it into the same group unless it is in another already.
    priority: name.split('-').length,
  }));
}

/** The given source files and everything that they import statically. */
function withImports(files) {
  const found = new Set();
  const add = (file) => {
    if (found.has(file)) return;
    found.add(file);
    const imports = readFileSync(file, 'utf8').matchAll(
      /^(?:import|export) (?!type\b)[^;]*?from '(\.[^']+)';/gm,
    );
    for (const [, path] of imports) add(resolve(dirname(file), path));
  };
  for (const file of files) add(resolve(file));
  return found;
}
