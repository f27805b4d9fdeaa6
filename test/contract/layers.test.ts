import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { folderTable, problems } from '../../scripts/import-graph.mjs';

const source = new URL('../../src/', import.meta.url);
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
);

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
  it('each folder imports only folders above it, and what scripts/import-graph.mjs allows', () => {
    expect(problems()).toEqual([]);
  });

  it('the page of ralph ui takes words and the core from src/, and no file that needs Node.js', () => {
    const folder = new URL('../../web/', import.meta.url);
    const imported = readdirSync(folder)
      .filter((file) => /\.tsx?$/.test(file))
      .flatMap((file) => [
        ...readFileSync(new URL(file, folder), 'utf8').matchAll(
          /^import (?!type )[^;]*? from '\.\.\/src\/([^']+)'/gm,
        ),
      ])
      .map(([, path = '']) => path);
    expect(imported.length).toBeGreaterThan(10);
    expect(imported.filter((path) => !/^(?:text|loop)\//.test(path))).toEqual([]);
  });

  it.each([
    ['loop/a.ts', 'files/files.ts'],
    ['loop/a.ts', 'zod'],
    ['git/a.ts', 'home/home.ts'],
    ['engine/a.ts', 'agents/agent.ts'],
    ['library/a.ts', 'settings/schema.ts'],
    ['library/a.ts', 'owner/owner.ts'],
    ['mcp/a.ts', 'home/home.ts'],
    ['mcp/a.ts', 'bus/records.ts'],
    ['cli/a.ts', 'git/git.ts'],
    ['cli/a.ts', 'projections/end-record.ts'],
    ['text/a.ts', 'home/home.ts'],
  ])('%s may not import %s', (file, path) => {
    expect(problems(new Map([[file, [path]]]))).toEqual([
      `${file} imports ${path}, which scripts/import-graph.mjs does not allow`,
    ]);
  });
});
