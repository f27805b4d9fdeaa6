import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { folderEdges, layers } from '../../scripts/import-graph.mjs';

const source = new URL('../../src/', import.meta.url);
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
);

/** What the files of a folder import from outside of it, packages and Node's modules included. */
const outside = (folder: string) => {
  const inside = files.filter((file) => file.startsWith(`${folder}/`));
  const imports = inside.flatMap((file) =>
    [...readFileSync(new URL(file, source), 'utf8').matchAll(/(?:from|import\()\s*'([^']+)'/g)].map(
      ([, path = '']) => path,
    ),
  );
  return {
    count: inside.length,
    imports: [...new Set(imports.filter((path) => !path.startsWith('./')))].toSorted(),
  };
};

/** The folders that each folder may import. `.oxlintrc.json` says the same; this notices when its patterns miss. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  loop: [],
  process: [],
  journal: ['loop'],
  agents: ['loop', 'process'],
  hosts: ['loop', 'process'],
  checks: ['loop', 'process'],
  git: ['process'],
  config: ['loop', 'user-error.ts'],
  engine: ['loop', 'journal', 'agents', 'hosts'],
  store: ['loop', 'process', 'journal', 'config', 'git', 'user-error.ts'],
  scm: ['loop', 'process', 'agents', 'checks', 'git', 'engine', 'store', 'user-error.ts'],
  recovery: ['loop', 'process', 'hosts', 'store', 'scm', 'user-error.ts'],
  worktree: ['loop', 'process', 'checks', 'git', 'store', 'scm', 'recovery', 'user-error.ts'],
  commands: ['loop', 'process', 'git', 'store', 'scm', 'recovery', 'worktree', 'views', 'user-error.ts'],
};

describe('the layers', () => {
  it('no two folders import each other, directly or around a corner', () => {
    expect(layers().length).toBe(folderEdges().size);
  });

  it.each(Object.entries(MAY_IMPORT))('%s/ imports only %j', (folder, allowed) => {
    const edges = folderEdges().get(folder);
    expect(edges).toBeDefined();
    expect([...(edges?.keys() ?? [])].filter((other) => !allowed.includes(other))).toEqual([]);
  });

  it('loop/ imports no package and nothing of Node', () => {
    const { count, imports } = outside('loop');
    expect(count).toBeGreaterThan(20);
    expect(imports).toEqual([]);
  });

  it('engine/ imports ports only, of the folders that have adapters', () => {
    const { count, imports } = outside('engine');
    expect(count).toBeGreaterThan(4);
    const ports = new Set(['agents/reader', 'hosts/host', 'journal/journal']);
    expect(imports.filter((path) => !path.startsWith('../loop/') && !ports.has(path.slice(3, -3)))).toEqual(
      [],
    );
  });

  it('library/ imports no parser and no adapter', () => {
    const { count, imports } = outside('library');
    expect(count).toBeGreaterThan(6);
    const known =
      /^(node:|\.\.\/(owner\/|views\/|commands\/remove-worktree\.ts|store\/|loop\/|config\/(aliases|closest|policy|config|values)\.ts|agents\/agent\.ts|hosts\/function\.ts|user-error\.ts))/;
    expect(imports.filter((path) => !known.test(path))).toEqual([]);
  });

  it('cli/ imports no adapter', () => {
    const { imports } = outside('cli');
    const known =
      /^(node:|commander$|@clack\/prompts$|fast-string-width$|\.\.\/((loop|config|store|scm|worktree|owner|views|commands|library)\/|agents\/agent\.ts|journal\/times\.ts|user-error\.ts))/;
    expect(imports.filter((path) => !known.test(path))).toEqual([]);
  });
});
