import { describe, expect, it } from 'vitest';
import { suggestChecks } from './suggest.ts';

/** The commands suggested for these files. */
const suggested = (files: Readonly<Record<string, string>>): readonly string[] =>
  suggestChecks({
    read: (name) => files[name] ?? null,
    list: (folder) =>
      Object.keys(files).flatMap((name) => {
        if (folder === '.') return [name.split('/')[0] ?? ''];
        return name.startsWith(`${folder}/`) ? [name.slice(folder.length + 1)] : [];
      }),
  }).map(({ command }) => command);

const manifest = (scripts: Readonly<Record<string, string>>, more: object = {}): string =>
  JSON.stringify({ scripts, ...more });

describe('package.json', () => {
  const all = manifest({ build: 'x', test: 'x', 'format:check': 'x', lint: 'x', types: 'x', start: 'x' });

  it('suggests its checking scripts in a fixed order', () => {
    expect(suggested({ 'package.json': all })).toEqual([
      'npm test',
      'npm run lint',
      'npm run types',
      'npm run build',
      'npm run format:check',
    ]);
    const both = manifest({ typecheck: 'x', types: 'x' });
    expect(suggested({ 'package.json': both })).toEqual(['npm run typecheck']);
  });

  it.each([
    ['package-lock.json', ['npm test', 'npm run lint']],
    ['pnpm-lock.yaml', ['pnpm test', 'pnpm run lint']],
    ['yarn.lock', ['yarn test', 'yarn run lint']],
    ['bun.lock', ['bun run test', 'bun run lint']],
    ['bun.lockb', ['bun run test', 'bun run lint']],
  ])('uses the package manager of %s', (lock, commands) => {
    expect(suggested({ 'package.json': manifest({ test: 'x', lint: 'x' }), [lock]: '' })).toEqual(commands);
  });

  it('uses the package manager that it names, if there is no lock file', () => {
    const named = manifest({ test: 'x' }, { packageManager: 'pnpm@9.0.0' });
    expect(suggested({ 'package.json': named })).toEqual(['pnpm test']);
    expect(suggested({ 'package.json': named, 'yarn.lock': '' })).toEqual(['yarn test']);
  });

  it('ignores the placeholder of npm init and scripts that watch', () => {
    const left = 'echo "Error: no test specified" && exit 1';
    expect(suggested({ 'package.json': manifest({ test: left, lint: 'eslint . --watch' }) })).toEqual([]);
    expect(suggested({ 'package.json': manifest({ test: 'vitest --watch=false' }) })).toEqual(['npm test']);
  });

  it.each(['', '{', '[]', 'null', '{"scripts":[1]}', '{"scripts":{"test":1}}'])(
    'suggests nothing for %j',
    (text) => {
      expect(suggested({ 'package.json': text })).toEqual([]);
    },
  );
});

describe('other repositories', () => {
  it('suggests the targets of a Makefile, not its variables', () => {
    const text = '.PHONY: test lint\nbuild := x\nlint test: deps\n\ttrue\ncheck::\n\ttrue\ntests: x\n';
    expect(suggested({ Makefile: text })).toEqual(['make test', 'make lint', 'make check']);
    expect(suggested({ Makefile: '\ttest: x\n# lint: x\n' })).toEqual([]);
  });

  it('suggests the default checks of Rust and Go', () => {
    expect(suggested({ 'Cargo.toml': '' })).toEqual(['cargo test', 'cargo clippy']);
    expect(suggested({ 'go.mod': '' })).toEqual(['go test ./...', 'go vet ./...']);
  });

  it('prefers a make target to the default of the language', () => {
    expect(suggested({ 'go.mod': '', Makefile: 'test:\n' })).toEqual(['make test', 'go vet ./...']);
  });

  it.each([
    { 'pyproject.toml': '[tool.pytest.ini_options]\n' },
    { 'pyproject.toml': 'dev = ["pytest>=8"]\n' },
    { 'pytest.ini': '[pytest]\n' },
    { 'setup.cfg': '[tool:pytest]\n' },
    { 'tox.ini': '[pytest]\n' },
    { 'tests/test_it.py': '' },
  ])('suggests pytest for %j', (files) => {
    expect(suggested(files)).toEqual(['pytest']);
  });

  it('runs pytest with the package manager of the lock file', () => {
    expect(suggested({ 'pytest.ini': '[pytest]', 'uv.lock': '' })).toEqual(['uv run pytest']);
    expect(suggested({ 'pytest.ini': '[pytest]', 'poetry.lock': '' })).toEqual(['poetry run pytest']);
  });

  it('suggests nothing without evidence of tests', () => {
    expect(suggested({ 'pyproject.toml': '[project]\n', 'tests/data.json': '', 'README.md': '' })).toEqual(
      [],
    );
  });
});
