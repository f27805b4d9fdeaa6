import { expect } from 'vitest';
import type { Ended } from '../scenarios/ralph.ts';
import type { Arena } from './arena.ts';
import { mentions } from './model-server.ts';
import type { RealAgent } from './real-agent.ts';
import { runs, says, USAGE, type Turn } from './script.ts';

/** What the model says when it has done its work, or believes so. */
export const CLAIM = 'It is done.\n\n<promise>DONE</promise>';
/** What it does to make the check pass. */
export const FIX = ': > fixed';
export const TASK: readonly string[] = ['Make the check pass.', '--check', 'sh check.sh'];

/** It claims too early, hears what the check says, and does the work. */
export const TOO_EARLY: readonly Turn[] = [says(CLAIM), runs(FIX), says(CLAIM)];

/** Lives through `TOO_EARLY` and looks at it from all sides: the user's, the model's, and what was counted. */
export async function liveThrough(agent: RealAgent, { run, model, stage }: Arena): Promise<void> {
  stage.write('check.sh', CHECK);
  const { stdout, stderr } = endedWith(0, await run([...TASK, '-m', '3']));
  expect(stage.state['outcome']).toMatchObject({ type: 'done', verified: true });
  expect(stdout).toContain('It is done.');
  expect(stderr).toContain('1 claim to be done, contradicted by a check');

  const asked = model.requests.filter(({ turn }) => typeof turn === 'number');
  expect(asked.map(({ turn }) => turn)).toEqual([0, 1, 2]);
  expect(asked.map((one) => mentions(one, 'the file is missing'))).toEqual([false, true, true]);
  expect(asked.filter((one) => !agent.model.endsWith(one.model))).toEqual([]);

  const [input, output, cached] = [USAGE.input, USAGE.output, USAGE.cached].map((count) => 3 * count);
  expect(stderr).toContain(`tokens: ${input} in, ${output} out, ${cached} cache read, 0 cache write`);
  if (agent.tellsCost) expect(stderr).toMatch(/cost +\$0\.0\d+ reported/);
}

/** Tells all that was said when the exit code is another. */
export function endedWith(code: number, ended: Ended): Ended {
  if (ended.code === code) return ended;
  throw new Error(
    `exit code ${ended.code}, not ${code}\n${ended.stdout.slice(-4000)}\n${ended.stderr.slice(-4000)}`,
  );
}

export const CHECK = 'test -e fixed && exit; echo the file is missing; exit 1\n';
