// Which source files are loaded together and therefore bundled into one file.
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Groups of source files with everything that they import statically and that is in no group before. */
export function together(groups) {
  return groups.map(([name, ...files], index) => ({
    name,
    test: withImports(files),
    priority: groups.length - index,
  }));
}

/** Matches the given source files and everything that they import statically, without the late modules. */
export function withImports(files, late = []) {
  const found = new Set(late);
  const add = (file) => {
    if (found.has(file)) return;
    found.add(file);
    const imports = readFileSync(file, 'utf8').matchAll(
      /^(?:import|export) (?!type\b)[^;]*?from '(\.[^']+)';/gm,
    );
    for (const [, path] of imports) add(resolve(dirname(file), path));
  };
  for (const file of files) add(resolve(file));
  return (id) => found.has(id) && !late.includes(id);
}
