/** What a loop says before a limit ends it. */
import { expect, it } from 'vitest';
import { openLoadedStage, openStage, waitFor } from './stage.ts';

it('says in the middle of a run that 80 % of a limit is used: once, on the screen, in the story and in the log', async () => {
  const stage = openStage();
  stage.installs('claude');
  const says = (message: object): string => `echo '${JSON.stringify({ type: 'assistant', message })}'`;
  const usage = { input_tokens: 450, output_tokens: 400 };
  stage.plans(1, `${says({ id: 'm1', usage, content: [{ type: 'text', text: 'Half.' }] })}; ${waitFor()}`);
  const words = ['run', 'work', '--name', 'it', '--agent', 'claude', '-m', '1', '--max-tokens', '1000'];
  const ralph = stage.ralph(...words);
  await stage.waitForEvents('limit.neared');
  // The agent is still at work.
  expect(stage.journal.some(({ type }) => type === 'run.ended')).toBe(false);
  const line = '85 % of the token limit used: 850 of 1000 tokens; raise it with: ralph set it max-tokens=…';
  expect((await stage.ralph('story', 'it').ended).stdout.replaceAll(/\n +/g, ' ')).toContain(line);
  expect((await stage.ralph('status', 'it').ended).stdout).toContain('\nUsed: 850 of 1000 tokens\n');
  stage.release();
  const { stderr } = await ralph.ended;
  expect(stderr.split(line)).toHaveLength(2);
  expect(stage.log).toContain('[NOTICE] iteration 1 85 % of the token limit used: 850 of 1000 tokens\n');
  const resumed = await stage.ralph('resume', 'it', '-m', '1').ended;
  expect(resumed.stderr).not.toContain('of the token limit used');
});

it('is shown by ls and status with what is used of it; a list without such a limit shows the cost alone', async () => {
  const stage = openLoadedStage();
  stage.installs('claude');
  const result = { type: 'result', subtype: 'success', result: 'made', total_cost_usd: 1.2 };
  stage.plans('default', `echo '${JSON.stringify(result)}'`);
  const runs = (...words: readonly string[]) =>
    stage.ralph('run', 'work', '-m', '1', '--agent', 'claude', ...words).ended;
  await runs('--name', 'free');
  expect((await stage.ralph('ls').ended).stdout).toMatch(
    /^NAME +STATE +ITER +COST +AGE +AGENT +TASK +REASON\n/,
  );
  await runs('--name', 'it', '--max-cost', '5', '--max-time', '1h');
  // The second list comes from memory.
  for (let times = 0; times < 2; times++) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const { stdout } = await stage.ralph('ls').ended;
    expect(stdout).toMatch(/^NAME +STATE +ITER +COST +AGE +AGENT +TASK +REASON\n/);
    expect(stdout).toMatch(/^it +iteration limit +1\/1 +\$1\.20 of \$5\.00 +\d+s/m);
    expect(stdout).toMatch(/^free +iteration limit +1\/1 +\$1\.20 +\d+s/m);
  }
  expect((await stage.ralph('status', 'it').ended).stdout).toMatch(
    /^Used: \$1\.20 of \$5\.00, \ds of 1h 0m$/m,
  );
  const { stdout } = await stage.ralph('status', 'it', '--json').ended;
  expect(JSON.parse(stdout)).toMatchObject({
    limits: [
      { limit: 'costUsd', used: 1.2, of: 5 },
      { limit: 'timeMs', of: 3_600_000 },
    ],
  });
});

it('ralph loop says once that --max-unchanged would end a loop whose checks pass and whose files stay the same', async () => {
  const stage = openLoadedStage();
  const words = [
    'loop',
    'work',
    '--name',
    'it',
    '--check',
    'true',
    '-m',
    '7',
    '--',
    'sh',
    '-c',
    'cat >/dev/null',
  ];
  const { code, stderr } = await stage.ralph(...words).ended;
  expect(code).toBe(1);
  const line =
    'it: every check passes, and nothing has changed for 5 iterations; --max-unchanged 5 would end the loop: ralph set it max-unchanged=5\n';
  expect(stderr.split(line)).toHaveLength(2);
  expect(stderr.indexOf(line)).toBeLessThan(stderr.indexOf('starting iteration 6/7'));
});
