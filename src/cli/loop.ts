import { resolve } from 'node:path';
import { givenFile } from '../loops/given-prompt.ts';
import { mergeSettings, type Settings } from '../settings/settings.ts';
import type { Policy } from '../loop/policy.ts';
import { UserError } from '../user-error.ts';
import type { StartRequest } from '../loops/loops.ts';
import { begin } from './begin.ts';
import { flagSettings, hasPlan, type RunOptions } from './options.ts';
import { warn } from './print.ts';
import { iterationLines } from '../text/iteration-lines.ts';

export interface LoopOptions extends RunOptions {
  readonly spec?: string;
  readonly config?: string;
}

/** `ralph loop`: the mode of document 002, until the checks pass and the agent prints the completion word. */
export async function loop(
  task: string | null,
  options: LoopOptions,
  command: readonly string[],
): Promise<number> {
  const given = promptOf(task, options);
  const settings = await loopSettings(options);
  return begin({
    start: {
      ...given,
      command,
      settings,
      // The final report tells failures of the agent from those that were there before.
      defaults: { baseline: true },
      agent: 'any-installed',
    },
    options,
    opening,
    ended(result, time) {
      if (options.quiet !== true) for (const line of iterationLines(result)) warn(`${time}${line}\n`);
    },
  });
}

/** The options of the command line override the configuration file; a limit of 0 means unlimited. */
async function loopSettings(options: LoopOptions): Promise<Settings> {
  const { maxCost, maxTime, ...rest } = options;
  const limits = {
    ...(maxCost === undefined || isZero(maxCost) ? {} : { maxCost }),
    ...(maxTime === undefined || isZero(maxTime) ? {} : { maxTime }),
  };
  const flags = flagSettings({ ...rest, ...limits });
  const file =
    options.config === undefined ? {} : (await import('../settings/yaml.ts')).readYaml(options.config);
  const merged = mergeSettings({ ...file, preset: 'architect' }, flags);
  // `build` is the document's name for its default agent.
  const { agent } = merged;
  return agent?.name === 'build' ? { ...merged, agent: { ...agent, name: undefined } } : merged;
}

function isZero(text: string): boolean {
  return /^\$?0+(?:\.0+)?s?$/.test(text.trim());
}

/** The task, or the specification in its place. */
function promptOf(task: string | null, options: LoopOptions): Pick<StartRequest, 'prompt' | 'promptFrom'> {
  const { spec } = options;
  const text = task ?? '';
  if (spec === undefined) {
    if (text.trim() !== '') return { prompt: { text } };
    if (task === null && hasPlan(options)) return {};
    throw new UserError('missing task: ralph loop "fix the tests" --check "npm test"');
  }
  const found = givenFile('spec file', spec, resolve(spec));
  const prompt = 'file' in found ? { text, spec: found.file } : { ...found, isSpecification: true as const };
  return { prompt, promptFrom: spec };
}

function opening({ checks, limits }: Policy, { worktree }: Settings): string {
  const where = worktree === true ? ' [worktree]' : '';
  return `Ralph Loop: ${checks.commands.length} check(s), max ${limits.iterations ?? '∞'} iterations${where}`;
}
