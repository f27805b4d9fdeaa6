import { expect, it } from 'vitest';
import { isConfiguration, sorted, type FileKind } from './changed-files.ts';

it('sorts the files that a loop could have made its own verdict with before the others', () => {
  const kinds: Readonly<Record<string, FileKind>> = { 'a.test.ts': 'test', 'run.sh': 'check' };
  const file = (path: string, added: number | null) =>
    ({ path, kind: 'changed', added, removed: 0 }) as const;
  const found = sorted(
    [file('a.ts', 1), file('a.test.ts', 1), file('b.ts', 9), file('image.png', null), file('run.sh', 0)],
    (path) => kinds[path] ?? 'other',
  );
  expect(found.files.map(({ path }) => path)).toEqual(['run.sh', 'a.test.ts', 'b.ts', 'a.ts', 'image.png']);
  expect(found).toMatchObject({ count: 5, added: 11, removed: 0, kinds: { test: 1, check: 1, other: 3 } });
});

it.each([
  ['package.json', true],
  ['packages/a/tsconfig.build.json', true],
  ['.github/workflows/ci.yml', true],
  ['vite.config.ts', true],
  ['.eslintrc.json', true],
  ['Makefile', true],
  ['src/config.ts', false],
  ['docs/package.md', false],
  ['src/main.rs', false],
])('%s is configuration: %s', (path, is) => {
  expect(isConfiguration(path)).toBe(is);
});
