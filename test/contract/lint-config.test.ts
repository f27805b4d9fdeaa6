import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Override {
  readonly files: readonly string[];
  readonly rules: Readonly<Record<string, unknown>>;
}

interface Pattern {
  readonly regex?: string;
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own file
const { overrides } = parse(readFileSync(join(ROOT, '.oxlintrc.json'), 'utf8')) as {
  readonly overrides: readonly Override[];
};
const boundaries = overrides.flatMap(({ files, rules }) => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the shape that the rule documents
  const rule = rules['eslint/no-restricted-imports'] as
    | readonly [string, { readonly patterns: readonly Pattern[] }]
    | undefined;
  return (rule?.[1].patterns ?? []).map((pattern) => ({ folder: beforeStar(files[0] ?? ''), ...pattern }));
});

/** The part of a glob that is a plain path. */
function beforeStar(glob: string): string {
  return glob.replace(/\*.*$/, '');
}

function exists(...path: readonly string[]): boolean {
  return existsSync(join(ROOT, ...path));
}

describe('.oxlintrc.json', () => {
  it('names only files and folders that exist', () => {
    const globs = overrides.flatMap(({ files }) => files);
    expect(globs.filter((glob) => !exists(beforeStar(glob)))).toEqual([]);
  });

  it('uses no lookaround, because oxlint silently ignores such a pattern', () => {
    expect(boundaries.map(({ folder }) => folder)).toEqual(['src/loop/', 'src/loop/', 'src/text/']);
    expect(boundaries.filter(({ regex = '' }) => regex.includes('(?'))).toEqual([]);
  });
});
