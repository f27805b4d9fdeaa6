import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'jsonc-parser';
import { describe, expect, it, onTestFinished } from 'vitest';

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

  it('lets only the command print', () => {
    const folders = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [entry.name] : [],
    );
    const printing = folders.flatMap((folder) => PRINTS.map((_, line) => `${folder}:${line + 1}`));
    expect(refusedPrints(folders)).toEqual(printing.filter((place) => !place.startsWith('cli:')).toSorted());
  });
});

/** The ways to print that a linter can see. */
const PRINTS = [
  "process.stdout.write('x');",
  "process.stderr.write('x');",
  "console.log('x');",
  'const { stdout: ours } = process;',
  "import { stdout } from 'node:process';",
  "import { Console } from 'node:console';",
];

/** The lines of a file with all these prints that the linter refuses in each folder: `home:1`. */
function refusedPrints(folders: readonly string[]): readonly string[] {
  const root = mkdtempSync(join(tmpdir(), 'ralph-lint-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  copyFileSync(join(ROOT, '.oxlintrc.json'), join(root, '.oxlintrc.json'));
  for (const folder of folders) {
    mkdirSync(join(root, 'src', folder), { recursive: true });
    writeFileSync(join(root, 'src', folder, 'a.ts'), PRINTS.join('\n'));
  }
  const oxlint = join(ROOT, 'node_modules', '.bin', 'oxlint');
  const { stdout } = spawnSync(oxlint, ['-f', 'unix', '-c', '.oxlintrc.json', '.'], {
    cwd: root,
    encoding: 'utf8',
  });
  const refused = stdout.matchAll(/src\/([a-z]+)\/a\.ts:(\d+):.*(?:no-restricted-|no-console)/g);
  return [...new Set([...refused].map(([, folder, line]) => `${folder}:${line}`))].toSorted();
}
