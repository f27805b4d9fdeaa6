/** What a loop says before a limit ends it. */
import { expect, it } from 'vitest';
import { openStage, waitFor } from './stage.ts';

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
  stage.release();
  const { stderr } = await ralph.ended;
  expect(stderr.split(line)).toHaveLength(2);
  expect(stage.log).toContain('[NOTICE] iteration 1 85 % of the token limit used: 850 of 1000 tokens\n');
  const resumed = await stage.ralph('resume', 'it', '-m', '1').ended;
  expect(resumed.stderr).not.toContain('of the token limit used');
});
