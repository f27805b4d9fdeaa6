import { mkdirSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Ended } from '../scenarios/ralph.ts';
import { openStage, type Stage } from '../scenarios/stage.ts';
import { startModel, type Model } from './model-server.ts';
import type { RealAgent } from './real-agent.ts';
import type { Turn } from './script.ts';

/**
 * A throwaway repository and home in which a real agent works, with a model that does what a script says. `bin` is the
 * folder with its command. What is left running when the test is over fails it.
 */
export async function openArena(agent: RealAgent, bin: string, script: readonly Turn[]): Promise<Arena> {
  const model = await startModel(script);
  onTestFinished(() => model.close());
  const stage = openStage();
  const home = stage.env['HOME'] ?? '';
  const temporary = join(dirname(home), 'tmp');
  mkdirSync(temporary);
  // What the CLIs leave in the folder for temporary files goes with the stage.
  Object.assign(stage.env, { PATH: `${bin}${delimiter}${stage.env['PATH']}`, TMPDIR: temporary });
  const env = agent.prepare({ home, url: model.url });
  return {
    stage,
    model,
    run: (options, more = {}) => {
      const given = Object.entries({ ...env, ...more }).flatMap(([key, value]) => [
        '--env',
        `${key}=${value}`,
      ]);
      const named = ['--name', 'it', '--agent', agent.name, '--model', agent.model];
      return stage.ralph('run', ...named, ...given, ...options).ended;
    },
  };
}

export interface Arena {
  readonly stage: Stage;
  readonly model: Model;
  /** `ralph run` to its end; `env` is added to the agent's environment. */
  readonly run: (options: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Ended>;
}
