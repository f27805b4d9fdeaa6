import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, type Stage } from './stage.ts';

/** A workspace whose check prints the recorded output of a test runner and fails. */
function stageWith(recording: string): Stage {
  const stage = openLoadedStage();
  const file = new URL(`../fixtures/check-outputs/${recording}.txt`, import.meta.url);
  copyFileSync(file, join(stage.plan, 'output.txt'));
  return stage;
}

const CHECK = 'cat "$FAKE_PLAN/output.txt"; exit 1';
const CONSOLE = [
  '  |  ./cart.test.js › adds two numbers: expect(received).toBe(expected) // Object.is equality',
  '  |  ./cart.test.js › cart › has a total with tax: expect(received).toEqual(expected) // deep equality',
  '  |  ./cart.test.js › cart › rejects a negative price: TypeError: price must not be negative: -1',
  "  |  ./broken.test.js › Test suite failed to run: Cannot find module './missing' from 'broken.test.js'",
];

describe('a failed check', () => {
  it('shows its failing tests to the next agent, to the person and in progress.md', async () => {
    const stage = stageWith('jest');
    const { stderr } = await stage.run('-p', 'work', '-m', '2', '--check', CHECK);
    expect(stage.given(2, 'stdin')).toContain(
      'Output (truncated):\n4 failures (jest):\n- ./cart.test.js › adds two numbers\n',
    );
    expect(stage.given(2, 'stdin')).toContain('\n\n./cart.test.js › adds two numbers\nexpect(received)');
    expect(
      stderr
        .split('\n')
        .filter((line) => line.startsWith('  |  '))
        .slice(0, 4),
    ).toEqual(CONSOLE);
    expect(stage.read('.ralph/loops/it/progress.md')).toContain(
      `: FAIL — ./cart.test.js › adds two numbers: expect(received).toBe(expected) // Object.is equality (and 3 more)\n`,
    );
  });

  it('shows the end of any other output, without the noise of a package manager', async () => {
    const stage = stageWith('npm');
    const { stderr } = await stage.run('-p', 'work', '-m', '2', '--check', CHECK);
    expect(stage.given(2, 'stdin')).toMatch(/exit 1\n\nwrong answer\n\n## When you are done/);
    expect(stderr).toContain('  |  wrong answer\n');
    expect(stderr).not.toContain('npm error');
    expect(stage.read('.ralph/loops/it/progress.md')).toContain(': FAIL — wrong answer\n');
  });

  it.each([
    ['ralph-cli', 'S2.58 shows the beginning of its output'],
    ['architect', 'S3.17 shows the end of its output'],
  ])('with the preset %s: %s, as the document says', async (preset) => {
    const stage = stageWith('npm');
    await stage.run('-p', 'work', '-m', '2', '--preset', preset, '--check', CHECK);
    expect(stage.given(2, preset === 'ralph-cli' ? 'last' : 'stdin')).toContain(
      '\nnpm error command sh -c echo "wrong answer"; exit 1\n',
    );
  });

  it('masks secrets of the environment in what it shows', async () => {
    const stage = stageWith('go');
    stage.env['MY_API_KEY'] = 'supersecretvalue12345';
    const check = `echo "--- FAIL: Test$MY_API_KEY (0.00s)"; echo "    a_test.go:1: $MY_API_KEY"; printf 'FAIL\\ta\\t1s\\n'; echo $MY_API_KEY; exit 1`;
    const { stderr } = await stage.run('-p', 'work', '-m', '2', '--check', check);
    const shown = [stderr, stage.given(2, 'stdin'), stage.read('.ralph/loops/it/progress.md')];
    for (const text of shown) {
      expect(text).toContain('Test<redacted>');
      expect(text).not.toContain('supersecret');
    }
  });

  it('S3.28 is one item of the list in progress.md, even if its command has several lines', async () => {
    const stage = openLoadedStage();
    const check = '# the slow tests\n\n  echo wrong\n  exit 1\n';
    await stage.run('-p', 'work', '-m', '1', '--check', check, '--check', 'true\n:');
    expect(stage.read('.ralph/loops/it/progress.md')).toContain(
      '- Checks:\n  - # the slow tests echo wrong exit 1: FAIL — wrong\n  - true :: PASS\n\n',
    );
  });
});
