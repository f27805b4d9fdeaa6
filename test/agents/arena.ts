import { mkdirSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Ended, Ralph } from '../scenarios/ralph.ts';
import { openStage, type Stage } from '../scenarios/stage.ts';
import { startModel, type Model } from './model-server.ts';
import type { RealAgent } from './real-agent.ts';
import type { Turn } from './script.ts';

/**
 * A throwaway repository and home for a real agent, with a scripted model. `bin` is the folder with the agent's command. A
 * process that is still alive after the test fails it.
 */
export async function openArena(agent: RealAgent, bin: string, script: readonly Turn[]): Promise<Arena> {
  const model = await startModel(script);
  onTestFinished(() => model.close());
  const stage = openStage();
  const home = stage.env['HOME'] ?? '';
  const temporary = join(dirname(home), 'tmp');
  mkdirSync(temporary);
  // The temporary files of the CLIs are deleted with the stage.
  Object.assign(stage.env, { PATH: `${bin}${delimiter}${stage.env['PATH']}`, TMPDIR: temporary });
  const env = agent.prepare({ home, url: model.url });
  const starts: Arena['starts'] = (options, more = {}) => {
    const given = Object.entries({ ...env, ...more }).flatMap(([key, value]) => ['--env', `${key}=${value}`]);
    const named = ['--name', 'it', '--agent', agent.name, '--model', agent.model];
    return stage.ralph('run', ...named, ...given, ...options);
  };
  return { stage, model, starts, run: (options, more) => starts(options, more).ended };
}

export interface Arena {
  readonly stage: Stage;
  readonly model: Model;
  /** Starts `ralph run`; `env` is added to the agent's environment. */
  readonly starts: (options: readonly string[], env?: Readonly<Record<string, string>>) => Ralph;
  /** Runs `ralph run` to its end. */
  readonly run: (options: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Ended>;
}
