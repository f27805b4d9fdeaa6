import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { folderEdges, folderTable, layers, problems } from '../../scripts/import-graph.mjs';

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
  files: [],
  process: ['files'],
  tmux: ['files', 'process', 'user-error.ts'],
  journal: ['loop', 'files', 'user-error.ts'],
  bus: ['loop', 'files', 'process', 'user-error.ts'],
  agents: ['loop', 'files', 'process'],
  hosts: ['loop', 'files', 'process', 'tmux'],
  checks: ['loop', 'files', 'process'],
  git: ['loop', 'files', 'process'],
  config: ['loop', 'files', 'user-error.ts'],
  plan: ['loop', 'files', 'config', 'user-error.ts'],
  engine: ['loop', 'journal', 'agents', 'hosts'],
  store: ['loop', 'files', 'process', 'tmux', 'bus', 'journal', 'config', 'git', 'user-error.ts'],
  sandbox: ['loop', 'files', 'process', 'bus', 'agents', 'git', 'store', 'user-error.ts'],
  scm: ['loop', 'files', 'process', 'agents', 'checks', 'git', 'engine', 'store', 'user-error.ts'],
  recovery: ['loop', 'files', 'process', 'hosts', 'store', 'scm', 'user-error.ts'],
  worktree: [
    'loop',
    'files',
    'process',
    'plan',
    'checks',
    'git',
    'store',
    'sandbox',
    'scm',
    'recovery',
    'user-error.ts',
  ],
  projections: ['loop', 'files', 'bus', 'journal', 'store', 'user-error.ts'],
  daemon: ['loop', 'files', 'process', 'journal', 'engine', 'store', 'owner', 'user-error.ts'],
  service: ['files', 'process', 'store', 'daemon', 'user-error.ts'],
  commands: [
    'loop',
    'files',
    'process',
    'git',
    'store',
    'scm',
    'recovery',
    'worktree',
    'views',
    'user-error.ts',
  ],
  session: [
    'loop',
    'files',
    'hosts',
    'engine',
    'journal',
    'agents',
    'config',
    'store',
    'owner',
    'views',
    'user-error.ts',
  ],
  hook: ['loop', 'files', 'agents', 'store', 'session', 'user-error.ts'],
  install: ['loop', 'files', 'config', 'store', 'user-error.ts'],
  mcp: ['loop', 'files', 'process', 'git', 'bus', 'config', 'store', 'owner', 'views', 'user-error.ts'],
};

const page = new URL('../../ARCHITECTURE.md', import.meta.url);
const TABLE = /(<!-- Made by `npm run docs`[^]*?-->\n\n)[^]*?(\n\n<!-- end of the table -->)/;

describe('ARCHITECTURE.md', () => {
  it('has the folders, what belongs in each, and what they import', () => {
    const text = readFileSync(page, 'utf8');
    const expected = text.replace(
      TABLE,
      (_, before: string, after: string) => before + folderTable() + after,
    );
    if (process.env['RALPH_WRITE_DOCS'] === '1') writeFileSync(page, expected);
    expect(readFileSync(page, 'utf8')).toBe(expected);
    expect(text).toMatch(TABLE);
    expect(problems()).toEqual([]);
  });

  it('names every file of the core', () => {
    const [, table = ''] = /^## The core\n([^]*?)^## /m.exec(readFileSync(page, 'utf8')) ?? [];
    const core = files.filter((file) => file.startsWith('loop/')).map((file) => file.slice('loop/'.length));
    expect(core.length).toBeGreaterThan(30);
    expect(core.filter((file) => !table.includes(`\`${file}\``) && !file.endsWith('-matcher.ts'))).toEqual(
      [],
    );
  });

  it('names only files that exist', () => {
    const text = readFileSync(page, 'utf8');
    const named = [...text.matchAll(/`((?:src|test|docs|scripts)\/[\w./-]+|[a-z-]+\/[a-z-]+\.ts)`/g)].map(
      ([, path = '']) => (/^(?:src|test|docs|scripts)\//.test(path) ? path : `src/${path}`),
    );
    expect(named.length).toBeGreaterThan(40);
    expect(named.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url)))).toEqual([]);
  });
});

describe('the layers', () => {
  it('no two folders import each other, directly or through others', () => {
    expect(layers().length).toBeGreaterThanOrEqual(folderEdges().size);
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
      /^(node:|\.\.\/(owner\/|bus\/|views\/|commands\/remove-worktree\.ts|store\/|loop\/|config\/(aliases|closest|policy|config|values)\.ts|agents\/agent\.ts|hosts\/function-call\.ts|user-error\.ts))/;
    expect(imports.filter((path) => !known.test(path))).toEqual([]);
  });

  it('cli/ imports no adapter', () => {
    const { imports } = outside('cli');
    const known =
      /^(node:|commander$|@clack\/prompts$|fast-string-width$|\.\.\/((loop|bus|config|plan|store|sandbox|scm|worktree|owner|daemon|service|views|commands|library|session|hook|install|mcp)\/|agents\/agent\.ts|journal\/times\.ts|user-error\.ts))/;
    expect(imports.filter((path) => !known.test(path))).toEqual([]);
  });
});
