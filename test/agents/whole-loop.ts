import { expect } from 'vitest';
import type { Ended } from '../scenarios/ralph.ts';
import type { Arena } from './arena.ts';
import { mentions } from './model-server.ts';
import type { RealAgent } from './real-agent.ts';
import { runs, says, USAGE, type Turn } from './script.ts';

/** The model's claim that it is done. */
export const CLAIM = 'It is done.\n\n<promise>DONE</promise>';
/** The command that makes the check pass. */
export const FIX = ': > fixed';
export const TASK: readonly string[] = ['Make the check pass.', '--check', 'sh check.sh'];

/** The model claims too early, gets the output of the check, and does the work. */
export const TOO_EARLY: readonly Turn[] = [says(CLAIM), runs(FIX), says(CLAIM)];

/** Runs `TOO_EARLY` and checks the output, the requests to the model, and the usage. */
export async function runTooEarly(agent: RealAgent, { run, model, stage }: Arena): Promise<void> {
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
  if (agent.reportsCost) expect(stderr).toMatch(/cost +\$0\.0\d+ reported/);
}

/** Throws with the output if the exit code is a different one. */
export function endedWith(code: number, ended: Ended): Ended {
  if (ended.code === code) return ended;
  throw new Error(
    `expected exit code ${code}, got ${ended.code}\n${ended.stdout.slice(-4000)}\n${ended.stderr.slice(-4000)}`,
  );
}

export const CHECK = 'test -e fixed && exit; echo the file is missing; exit 1\n';
