/** What Ralph refuses or warns about when a loop starts: seconds without a unit, the starter prompt, and conditions that say nothing. */
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openLoadedStage, type Stage } from './stage.ts';

const DONE = "echo '<promise>DONE</promise>'";

const warnings = async (stage: Stage, ...words: readonly string[]): Promise<readonly string[]> => {
  const { stderr } = await stage.run('-m', '1', ...words);
  return stderr.split('\n').filter((line) => line.startsWith('[ralph] it: warning:'));
};

it('refuses --max-time without a unit, except where document 002 has seconds', async () => {
  const stage = openLoadedStage();
  stage.plans('default', DONE);
  const refused = await stage.run('work', '--max-time', '5');
  expect([refused.code, refused.stderr]).toEqual([
    2,
    'ralph: error: --max-time 5 needs a unit: 5m for minutes, or 5s for seconds\n',
  ]);
  expect((await stage.run('work', '--max-time', '5s')).code).toBe(0);
});

it('refuses the starter prompt until it is edited', async () => {
  const stage = openLoadedStage();
  stage.plans('default', DONE);
  await stage.ralph('init', '--prompt').ended;
  const refused = await stage.run('-f', 'PROMPT.md');
  expect([refused.code, refused.stderr]).toEqual([
    2,
    'ralph: error: the prompt is the starter prompt of ralph init --prompt, which was not edited; write in PROMPT.md what the agent should do in this project\n',
  ]);
  expect(existsSync(stage.path('.ralph'))).toBe(false);
  stage.write('PROMPT.md', `${stage.read('PROMPT.md')}- begin with the parser\n`);
  expect((await stage.run('-f', 'PROMPT.md')).code).toBe(0);
});

it('works through a plan without a task', async () => {
  const stage = openLoadedStage();
  stage.write('PLAN.md', '- [ ] write the parser\n');
  stage.plans('default', `sed -i 's/\\[ ]/[x]/' PLAN.md; ${DONE}`);
  const { code } = await stage.run('--plan', 'PLAN.md');
  expect(code).toBe(0);
  expect(stage.given(1, 'stdin')).toContain('Work through the plan PLAN.md: do its next open item');
  expect(stage.given(1, 'stdin')).toContain('write the parser');
});

it('warns about checks that cannot fail, and about those that run no test', async () => {
  const stage = openLoadedStage();
  stage.plans('default', DONE);
  const checks = (...commands: readonly string[]) => commands.flatMap((command) => ['--check', command]);
  expect(await warnings(stage, 'work', ...checks('true', 'test -f a || true', 'echo ok && false'))).toEqual([
    '[ralph] it: warning: the check "true" cannot fail, so it verifies nothing',
    '[ralph] it: warning: the check "test -f a || true" cannot fail, so it verifies nothing',
  ]);
  stage.write(
    'package.json',
    JSON.stringify({ scripts: { test: 'echo "Error: no test specified" && exit 1', lint: 'echo later' } }),
  );
  expect(await warnings(stage, 'work', ...checks('npm test', 'npm run lint'))).toEqual([
    '[ralph] it: warning: the check "npm test" runs no test: its script in package.json is the placeholder of npm init, which always fails',
    '[ralph] it: warning: the check "npm run lint" cannot fail, so it verifies nothing: its script in package.json is "echo later"',
  ]);
});

it('warns about a claim in the prompt only where the agent would claim with the same text', async () => {
  const stage = openLoadedStage();
  stage.plans('default', DONE);
  expect(await warnings(stage, 'Fix it. When done, print:\n<promise>DONE</promise>')).toEqual([
    '[ralph] it: warning: the prompt contains "<promise>DONE</promise>": an agent that repeats that line claims to be done',
  ]);
  expect(await warnings(stage, 'Fix it, then print <promise>DONE</promise> and stop')).toEqual([]);
});
