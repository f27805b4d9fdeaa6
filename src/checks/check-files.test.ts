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
    ['sh check.sh > tools/lint', ['check.sh']],
    ['sh check.sh 2>tools/lint >>../outside.sh', ['check.sh']],
    ['sh check.sh &> tools/lint', ['check.sh']],
    ['sh check.sh >| tools/lint 2>&1', ['check.sh']],
    ['sh 2>&1 -e check.sh', ['check.sh']],
    ['node 2>/dev/null <tools/lint', ['tools/lint']],
    ['sh check.sh < tools/lint > ../outside.sh', ['check.sh', 'tools/lint']],
    ['./a > >(tee tools/lint) && sh check.sh', ['check.sh', 'tools/lint']],
    ['if grep -q TODO check.sh; then exit 1; fi', []],
    ['timeout 5 grep -q ok tools/lint', []],
    ['[[ -s check.sh ]]', []],
    ['[ "$(sh check.sh)" = 0 ]', ['check.sh']],
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

describe('a check behind other programs', () => {
  it.each([
    'timeout -k 5 60 npm test',
    'nice -n 10 npm test',
    'env -u CI A=b npm test',
    'cross-env CI=1 npm test',
    'time -p npm test',
    '! npm test',
    'if npm test; then echo ok; fi',
    'while ! npm test; do sleep 1; done',
    'for n in 1 2; do npm test; done',
    '{ npm test; }',
    "bash -euo pipefail -c 'cd . && npm test'",
    'sh -lc "exec npm test" name',
    'eval "npm test"',
    'npx concurrently --raw "npm test"',
    'pnpm exec dotenv -e .env -- npm test',
    'test -z "$(CI=1 npm test 2>&1)"',
    'sudo -u ci -E timeout 60 npm test',
    'uv run --frozen npm test',
  ])('names the scripts that it runs: %s', async (command) => {
    const start = { 'package.json': pack({ test: 'sh unit.sh' }), 'unit.sh': '. ./lib.sh', 'lib.sh': '' };
    expect(await found(start, command)).toEqual({
      files: ['lib.sh', 'unit.sh'],
      scripts: { 'package.json': ['pretest', 'test', 'posttest'] },
    });
  });

  it.each([
    'npx tsx scripts/check.ts',
    'npx --yes -p tsx@4 tsx --tsconfig tsconfig.json scripts/check.ts',
    'npm exec -- tsx scripts/check.ts',
    'pnpm exec tsx scripts/check.ts',
    'pnpm tsx scripts/check.ts',
    'yarn run tsx scripts/check.ts',
    'bunx tsx scripts/check.ts',
    'bun run scripts/check.ts',
    'deno run -A --config tsconfig.json scripts/check.ts',
    'cross-env X=1 node scripts/check.ts',
    'npx cross-env X=1 node --env-file .env scripts/check.ts',
    'node --import ./scripts/setup.mjs scripts/check.ts',
    'node --import=./scripts/setup.mjs scripts/check.ts',
    'node -r ./scripts/setup.mjs scripts/check.ts',
    'if node scripts/check.ts; then true; fi',
    '! node scripts/check.ts',
    'time node scripts/check.ts',
    'env A=b node scripts/check.ts',
    "sh -c 'node scripts/check.ts'",
    'bun scripts/check.ts',
  ])('loads what its script loads: %s', async (command) => {
    const start = {
      'tsconfig.json': '{}',
      '.env': '',
      'scripts/check.ts': "import { a } from './a.js';",
      'scripts/a.ts': '',
      'scripts/setup.mjs': "import './b.mjs';",
      'scripts/b.mjs': '',
    };
    const { files } = await found(start, command);
    const preloaded = command.includes('setup') ? ['scripts/b.mjs', 'scripts/setup.mjs'] : [];
    expect(files).toEqual(expect.arrayContaining(['scripts/a.ts', 'scripts/check.ts', ...preloaded]));
  });

  it.each([
    'uv run check.py',
    'uv run --with rich python check.py',
    'uv run python -W error -X dev check.py',
    'poetry run python3 check.py',
    'python -m check',
    'env A=b ./check.py',
    "python3 -c 'import check'",
  ])('loads what its Python script loads: %s', async (command) => {
    const start = { 'check.py': 'import helpers', 'helpers.py': '' };
    const code = command.includes('-c');
    expect((await found(start, command)).files).toEqual(code ? ['check.py'] : ['check.py', 'helpers.py']);
  });

  it.each([
    'if bash scripts/x.sh; then true; fi',
    '! scripts/x.sh',
    'time scripts/x.sh',
    'env A=b scripts/x.sh',
    'A=b exec scripts/x.sh',
    'bash -o pipefail scripts/x.sh',
    'bash < scripts/x.sh',
    'xargs -n 1 sh scripts/x.sh',
  ])('loads what its shell script loads: %s', async (command) => {
    const start = { 'scripts/x.sh': '. "$(dirname "$0")/lib.sh"', 'scripts/lib.sh': '' };
    expect((await found(start, command)).files).toEqual(['scripts/lib.sh', 'scripts/x.sh']);
  });

  it('may be in the output of a command, after the commands before it', async () => {
    expect((await found({ 'a/x.sh': '' }, 'cd a; test "$(sh x.sh)" = 0')).files).toEqual(['a/x.sh']);
  });

  it('does not load what the arguments and tests of a program load', async () => {
    const start = { 'a.js': "import './b.js';", 'b.js': '', 'a.py': 'import b', 'b.py': '' };
    for (const command of [
      'timeout 60 eslint a.js',
      'npx eslint a.js',
      'node dist/check.js a.js',
      'node --test a.js',
      'node -e "run()" a.js',
    ])
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect((await found(start, command)).files).toEqual(['a.js']);
    for (const command of ['python -m pytest a.py', 'uv run pytest a.py', 'python -c "run()" a.py'])
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect((await found(start, command)).files).toEqual(['a.py']);
  });

  it('is the program that the first line of a script names', async () => {
    const start = { check: "#!/usr/bin/env -S npx tsx\nimport './a.js';", 'a.ts': '' };
    expect((await found(start, './check')).files).toEqual(['a.ts', 'check']);
  });
});

describe('the code that a script of a check loads', () => {
  const lib = { 'lib.sh': '', 'tools/lib.sh': '', 'tools/more.sh': '', '../top.sh': '' };
  const script = async (command: string, name: string, text: string, more = {}) => {
    const { files } = await found({ ...lib, [name]: text, ...more }, command);
    return files.filter((file) => file !== name);
  };

  it.each([
    ['. ./lib.sh', ['lib.sh', 'tools/lib.sh']],
    ['set -e; source lib.sh --fast # load', ['lib.sh', 'tools/lib.sh']],
    ['[ -f more.sh ] && . "more.sh" || exit 1', ['tools/more.sh']],
    ['if true; then . ./more.sh; fi', ['tools/more.sh']],
    ['. "$(dirname "$0")/more.sh"', ['tools/more.sh']],
    ['. "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/more.sh"', ['tools/more.sh']],
    ['. `dirname $0`/../../top.sh', ['../top.sh']],
    ["source '$DIR'/more.sh", ['tools/more.sh']],
    ['. "$1"', []],
    ['# . ./lib.sh', []],
    ['echo "it is" . ./lib.sh', []],
    ['. /lib.sh; . ./gone.sh', []],
  ])('%s', async (line, files) => {
    for (const command of [
      'tools/check',
      'timeout -k 5 60 ./tools/check',
      'bash -e tools/check',
      '. tools/check',
    ])
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await script(command, 'tools/check', `echo "don't"\n${line}\n`)).toEqual(files);
  });

  it.each([
    ["import { a } from './a.js';", ['tools/a.js']],
    ["import './b';", ['tools/b.ts']],
    ["export * from '../lib';", ['lib/index.js']],
    ["const a = require( './a' );", ['tools/a.js']],
    ['await import("./data.json")', ['tools/data.json']],
    ["import c from './c.js';", ['tools/c.ts']],
    ["import vitest from 'vitest'; import x from './x.js'; require('../package.json')", []],
  ])('%s', async (line, files) => {
    const more = { 'tools/a.js': '', 'tools/b.ts': '', 'tools/c.ts': '', 'tools/data.json': '' };
    const also = { ...more, 'lib/index.js': '', 'package.json': '{}' };
    expect(await script('node --no-warnings tools/check.mjs', 'tools/check.mjs', line, also)).toEqual(files);
    const text = `#!/usr/bin/env -S node --no-warnings\n${line}`;
    expect(await script('CI=1 tools/check', 'tools/check', text, also)).toEqual(files);
  });

  it.each([
    ['import helpers, os, a.b as ab', ['tools/a/b.py', 'tools/helpers.py']],
    ['  from pack import thing', ['tools/pack/__init__.py']],
    ['from .helpers import *', ['tools/helpers.py']],
    ['important = helpers', []],
  ])('%s', async (line, files) => {
    const more = {
      'tools/helpers.py': '',
      'tools/a/b.py': '',
      'tools/pack/__init__.py': '',
      'helpers.py': '',
    };
    expect(await script('python3 -u tools/check.py', 'tools/check.py', line, more)).toEqual(files);
  });

  it('is that of scripts in package.json and in recipes, of one level, and never of a test', async () => {
    const start = {
      ...lib,
      Makefile: 'x:\n\tsh tools/check.sh\n',
      'package.json': pack({ test: 'node run.mjs && sh test/run.sh' }),
      'run.mjs': "import './one.js';",
      'one.js': "import './two.js';",
      'two.js': '',
      'test/run.sh': '. ./lib.sh',
      'tools/check.sh': '. ./more.sh',
    };
    expect((await found(start, 'npm test')).files).toEqual(['one.js', 'run.mjs', 'test/run.sh']);
    expect((await found(start, 'make x')).files).toEqual(['Makefile', 'tools/check.sh', 'tools/more.sh']);
  });

  it('is not that of a file that a check only passes on', async () => {
    const start = { 'a.js': "import './b.js';", 'b.js': '' };
    expect((await found(start, 'eslint a.js')).files).toEqual(['a.js']);
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
