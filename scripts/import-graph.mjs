/**
 * The folders of `src/` and what each imports, from the innermost to the outermost: `node scripts/import-graph.mjs`.
 * `--write` puts the table into ARCHITECTURE.md; `test/contract/layers.test.ts` fails when that table is out of date
 * or a folder imports one that stands below it in the table.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const SOURCE = join(ROOT, 'src');

/** What each source file imports, types included, as paths below `src/`. */
export function importedFiles() {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  );
  return new Map(
    files
      .toSorted((a, b) => a.localeCompare(b))
      .map((file) => {
        const text = readFileSync(join(SOURCE, file), 'utf8');
        const imports = [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(([, path]) =>
          relative(SOURCE, join(SOURCE, dirname(file), path)),
        );
        return [file, [...new Set(imports)]];
      }),
  );
}

/** Every folder with the folders that it imports and how many of its files do. */
export function folderEdges() {
  const edges = new Map();
  for (const [file, imports] of importedFiles()) {
    const from = folderOf(file);
    const to = edges.get(from) ?? new Map();
    edges.set(from, to);
    for (const path of imports) {
      const folder = folderOf(path);
      if (folder !== from) to.set(folder, (to.get(folder) ?? 0) + 1);
    }
  }
  return edges;
}

/** Folders so that each stands after all that it imports; throws where two import each other. */
export function layers(edges = folderEdges()) {
  const order = [];
  const left = new Set([...edges.keys()].toSorted((a, b) => a.localeCompare(b)));
  while (left.size > 0) {
    const next = [...left].find((folder) => [...edges.get(folder).keys()].every((to) => !left.has(to)));
    if (next === undefined) throw new Error(`these folders import each other: ${[...left].join(', ')}`);
    order.push(next);
    left.delete(next);
  }
  return order;
}

function folderOf(path) {
  return path.split('/')[0];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const edges = folderEdges();
  for (const [from, to] of edges)
    process.stdout.write(`${from}: ${[...to].map(([f, n]) => `${f} ${n}`).join(', ')}\n`);
  process.stdout.write(layers(edges).join(' < ') + '\n');
}
