import { describe, expect, it } from 'vitest';
import { checkFiles } from './check-files.ts';
import { isTestFile } from './test-files.ts';

/** What the commands run, given the files at the start. */
async function found(files: Readonly<Record<string, string>>, ...commands: readonly string[]) {
  const { files: whole, scripts } = await checkFiles(commands, {
    has: (path) => Object.hasOwn(files, path),
    read: async (path) => files[path] ?? null,
  });
  return {
    files: [...whole].toSorted(),
    scripts: Object.fromEntries([...scripts].map(([file, names]) => [file, [...names]])),
  };
}

const pack = (scripts: Readonly<Record<string, string>>): string => JSON.stringify({ scripts });

describe('the files that a check runs', () => {
  it.each([
    ['./check.sh', ['check.sh']],
    ['sh ./check.sh --fast', ['check.sh']],
    ['CI=1 bash "check.sh"', ['check.sh']],
    ["cat log | grep ok && 'check.sh'", ['check.sh']],
    ['(cd tools && ./lint)', ['tools/lint']],
    ['cd tools; cd ..; sh check.sh', ['check.sh']],
    ['eslint --config=tools/lint src', ['tools/lint']],
    ['diff <(./check.sh) expected', ['check.sh']],
    ['echo check.sh.bak # check.sh', []],
    ['! LC_ALL=C grep -q TODO check.sh && test -x check.sh && [ -s check.sh ]', []],
    ['grep -qf tools/lint check.sh', ['check.sh', 'tools/lint']],
    ['grep -q ok tools/lint && sh check.sh', ['check.sh']],
    ['/check.sh', []],
    ['python -m unittest', []],
    ['sh ../outside.sh', ['../outside.sh']],
    ['tools/../check.sh', ['check.sh']],
  ])('%s', async (command, files) => {
    const start = { 'check.sh': '', 'tools/lint': '', '../outside.sh': '' };
    expect(await found(start, command)).toEqual({ files, scripts: {} });
  });

  it('are the scripts of package.json that it names, those around them, and the files in them', async () => {
    const start = {
      'package.json': pack({
        test: 'npm run unit && node run.mjs',
        unit: 'vitest --config v.mjs',
        build: 'sh b.sh',
      }),
      'run.mjs': '',
      'v.mjs': '',
      'b.sh': '',
    };
    for (const command of ['npm test', 'npm t', 'CI=1 yarn test', 'pnpm run test', 'node --run test'])
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await found(start, command)).toEqual({
        files: ['run.mjs', 'v.mjs'],
        scripts: { 'package.json': ['pretest', 'test', 'preunit', 'unit', 'postunit', 'posttest'] },
      });
  });

  it('are those of the nearest package.json, of the folder that an option names, and of a pattern', async () => {
    const start = {
      '../package.json': pack({ lint: 'sh l.sh' }),
      '../l.sh': '',
      'a/package.json': pack({ 'test:one': 'sh 1.sh', 'test:two': 'sh 2.sh' }),
      'a/1.sh': '',
      'a/2.sh': '',
    };
    expect(await found(start, 'npm run lint')).toMatchObject({ files: ['../l.sh'] });
    expect(await found(start, 'npm --prefix a run test:one')).toMatchObject({ files: ['a/1.sh'] });
    expect(await found(start, 'cd a && run-s "test:*"')).toMatchObject({ files: ['a/1.sh', 'a/2.sh'] });
  });

  it('survive scripts that call each other, and a package.json that is none', async () => {
    const start = { 'package.json': pack({ test: 'npm run a', a: 'npm run test' }) };
    expect(await found(start, 'npm test')).toMatchObject({ files: [] });
    expect(await found({ 'package.json': '{' }, 'npm test')).toEqual({ files: [], scripts: {} });
    expect(await found({ 'package.json': '[]' }, 'npm test')).toEqual({ files: [], scripts: {} });
  });

  it('are the Makefile, what it includes, and the paths in the recipes of the targets and their prerequisites', async () => {
    const start = {
      Makefile:
        'include rules.mk\n.PHONY: all\nall: unit\n\nunit: build\n\t@sh unit.sh \\\n  more.sh\nbuild: ; sh build.sh\nother:\n\tsh other.sh\n',
      'rules.mk': '',
      'unit.sh': '',
      'more.sh': '',
      'build.sh': '',
      'other.sh': '',
    };
    const all = ['Makefile', 'build.sh', 'more.sh', 'rules.mk', 'unit.sh'];
    expect(await found(start, 'make')).toMatchObject({ files: all });
    expect(await found(start, 'make -s unit')).toMatchObject({ files: all });
    expect(await found(start, 'make other')).toMatchObject({ files: ['Makefile', 'other.sh', 'rules.mk'] });
    const nested = { 'sub/ci.mk': 'x:\n\tsh y.sh\n', 'sub/y.sh': '' };
    expect(await found(nested, 'make -C sub -f ci.mk x')).toMatchObject({ files: ['sub/ci.mk', 'sub/y.sh'] });
  });
});

describe('a test by convention', () => {
  it.each([
    'test/a.sh',
    'tests/deep/b.txt',
    'packages/a/test/c.js',
    'src/__tests__/x.js',
    'src/a.test.ts',
    'a.spec.jsx',
    'pkg/a_test.go',
    'test_a.py',
    'conftest.py',
    'src/test/java/CartTest.java',
    'spec/a_spec.rb',
    'vitest.config.ts',
    'pytest.ini',
    'src/__snapshots__/a.snap',
  ])('is %s', (path) => expect(isTestFile(path)).toBe(true));

  it.each([
    'src/latest.ts',
    'contest.py',
    'src/testing.ts',
    'specs/plan.md',
    'README.md',
    'src/attest/a.ts',
    'package.json',
  ])('is not %s', (path) => expect(isTestFile(path)).toBe(false));
});
