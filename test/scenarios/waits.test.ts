/** `ralph wait`: how it exits, and what it says. */
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { Ralph } from './ralph.ts';
import { openLoadedStage, waitFor, type Stage } from './stage.ts';

const DONE = "echo '<promise>DONE</promise>'";
const HOOK = fileURLToPath(new URL('../fixtures/tells-that-it-watches.mjs', import.meta.url));

/** Starts a loop of this name in the background. */
const starts = (stage: Stage, name: string, ...words: readonly string[]) =>
  stage.ralph('run', 'work', '--name', name, '--detach', '-m', '1', ...words, '--', stage.agent).ended;

/** Starts to wait, and returns once it does. */
async function waits(stage: Stage, what: string): Promise<Ralph> {
  const file = stage.path('watches');
  const env = { RALPH_E2E_WATCHES: file, NODE_OPTIONS: `--import ${HOOK}` };
  const waiting = stage.shell(`$RALPH wait ${what}`, env);
  await stage.waitForFile(file);
  return waiting;
}

it('exits as the loop ended, and its last line says the result', async () => {
  const stage = openLoadedStage();
  stage.plans(1, DONE);
  await starts(stage, 'good');
  const good = await stage.ralph('wait', 'good').ended;
  expect(good).toMatchObject({
    code: 0,
    stdout: "good: done, unverified: no check verified the agent's claim\n",
  });
  stage.plans(2, 'echo not yet');
  await starts(stage, 'bad');
  const bad = await stage.ralph('wait', 'bad').ended;
  expect(bad).toMatchObject({
    code: 1,
    stdout: 'bad: iteration limit reached: 1 without an accepted claim\n',
  });
});

it('exits with the greatest code of all running loops; one of the preset swarm has the line and the code of its document', async () => {
  const stage = openLoadedStage();
  stage.plans('default', waitFor());
  await starts(stage, 'plain');
  await starts(stage, 'worker', '--preset', 'swarm');
  await starts(stage, 'other');
  const all = await waits(stage, '--all');
  await stage.ralph('stop', 'other', '--now').ended;
  stage.release();
  const { code, stdout } = await all.ended;
  expect(code).toBe(130);
  expect(stdout.trimEnd().split('\n').toSorted()).toEqual([
    'other: cancelled by a person',
    'plain: iteration limit reached: 1 without an accepted claim',
    'worker: exited',
  ]);
});
