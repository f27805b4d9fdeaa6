import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NEEDS } from './needs.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const text = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** Not in one piece: it would tag this file. */
const FILE_TAG = ['@module', 'tag'].join('-');

/** A small project with tests that need tmux, and one that does not. */
const PROJECT = {
  'vitest.config.ts': `
    import { tagsOfNeeds } from '${ROOT}test/rig/needs.ts';
    const globalSetup = ['${ROOT}test/rig/needs.ts'];
    const reporters = ['default', '${ROOT}test/rig/needs-reporter.ts', '${ROOT}test/contract/reporter.ts'];
    export default { test: { globals: true, tags: tagsOfNeeds(), globalSetup, reporters } };
  `,
  'some.test.js': `
    it('one', { tags: ['tmux'] }, () => { throw new Error('no tmux') });
    it('two', { tags: ['tmux'] }, () => {});
    it('three', () => {});
    it('four', ({ skip }) => skip('because it rains'));
  `,
  'whole.test.js': `// ${FILE_TAG} tmux
    beforeAll(() => { throw new Error('no tmux') });
    it('five', () => {});
  `,
  'alone.test.js': "it('six', () => {});",
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-needs-'));
  for (const [name, content] of Object.entries(PROJECT)) writeFileSync(join(folder, name), content);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the tests of the project where there are only Node.js, a shell and these programs. */
function run(
  programs: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
  ...files: readonly string[]
) {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  symlinkSync(process.execPath, join(bin, 'node'));
  symlinkSync('/bin/sh', join(bin, 'sh'));
  for (const [name, script] of Object.entries(programs))
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--root', folder, ...files],
    {
      cwd: folder,
      env: { PATH: bin, HOME: folder, NO_COLOR: '1', ...env },
      encoding: 'utf8',
      timeout: 50_000,
    },
  );
  return {
    status,
    stdout,
    lines: stderr.split('\n').filter((line) => / skipped |RALPH_TEST_ALL|^ {2}\w+: |contract/.test(line)),
    stderr,
  };
}

describe('a program that is missing', () => {
  it('skips its tests, and the run ends with their number and what installs it', () => {
    const { status, stdout, lines } = run({});
    expect({ status, stdout }).toMatchObject({ status: 0 });
    expect(stdout).toMatch(/Tests +2 passed \| 4 skipped/);
    expect(lines).toEqual([
      expect.stringMatching(
        /^3 tests skipped without tmux \(not installed: (?:sudo )?(?:apt-get|brew) install tmux\)$/,
      ),
      '1 test skipped because it rains',
    ]);
  });

  it('is one that does not work here, too, and nothing is written about the contract', () => {
    const before = text('docs/contract.md');
    const { status, lines } = run({ tmux: 'echo "no server today" >&2; exit 1' }, { RALPH_WRITE_DOCS: '1' });
    expect(status).toBe(0);
    expect(lines[0]).toMatch(/^3 tests skipped without tmux \(does not work here, no server today: /);
    expect(lines).toContain('docs/contract.md was not written: tests were skipped without tmux');
    expect(text('docs/contract.md')).toBe(before);
  });

  it('fails the run that wants all tests, by its name', () => {
    const { status, stdout, stderr } = run({}, { RALPH_TEST_ALL: '1' });
    expect(status).toBe(1);
    expect(stdout + stderr).toMatch(/RALPH_TEST_ALL=1 [^]*^ {2}tmux: not installed: .* install tmux$/m);
    expect(stdout).not.toContain('skipped');
  });
});

it('a run of some files only neither compares nor writes the page of the contract', () => {
  const before = text('docs/contract.md');
  const { status, lines } = run({}, { RALPH_WRITE_DOCS: '1' }, 'alone');
  expect(status).toBe(0);
  expect(lines).toEqual(['docs/contract.md was not written: only 1 of 3 test files ran']);
  expect(text('docs/contract.md')).toBe(before);
});

it('the gate is what the README says; CONTRIBUTING names every program, and the gate and the workflow install its package', () => {
  for (const command of ['npm ci && npm run demo', 'npm ci && npm test'])
    expect(text('README.md')).toContain(`\n${command}\n`);
  expect(text('.ci/run')).toContain('\nexport RALPH_TEST_ALL=1\nnpm ci && npm test\n');
  for (const file of ['.ci/run', '.github/workflows/ci.yml'])
    for (const { apt } of NEEDS) expect(text(file)).toMatch(new RegExp(`[ :]${apt}\\b`));
  for (const { name } of NEEDS) expect(text('CONTRIBUTING.md')).toContain(`\`${name}\``);
});
