import { resolve } from 'node:path';
import { givenFile, NO_PROMPT, pipedPrompt } from '../loops/given-prompt.ts';
import { PRESET_NAMES } from '../loop/policy.ts';
import { presets } from '../loop/presets.ts';
import { UserError } from '../user-error.ts';
import type { StartRequest } from '../loops/loops.ts';
import { begin } from './begin.ts';
import { type RunOptions, flagSettings, hasPlan } from './options.ts';

/** `ralph run`: creates a loop and drives it until it ends. */
export async function runLoop(
  task: string | null,
  options: RunOptions,
  command: readonly string[],
): Promise<number> {
  refuseBareTime(options);
  const given = promptOf(task, options);
  return begin({ start: { ...given, command, settings: flagSettings(options) }, options });
}

/** Refuses seconds without a unit, which are easily meant as minutes. A preset may have them. */
function refuseBareTime({ maxTime, preset }: RunOptions): void {
  const number = maxTime?.trim() ?? '';
  const known = PRESET_NAMES.find((name) => name === preset);
  if (known !== undefined && presets[known].plainSeconds === true) return;
  if (!/^\d*[1-9]\d*$/.test(number)) return;
  throw new UserError(`--max-time ${number} needs a unit: ${number}m for minutes, or ${number}s for seconds`);
}

/** The prompt; an empty text counts as not given. */
function promptOf(task: string | null, options: RunOptions): Pick<StartRequest, 'prompt' | 'promptFrom'> {
  const { prompt, promptFile } = options;
  const texts = [task, prompt].filter((text) => text !== null && text !== undefined && text !== '');
  const file = promptFile === undefined || promptFile === '' ? null : promptFile;
  if (texts.length > 0 && file !== null) {
    const given = prompt === undefined || prompt === '' ? 'a task' : '--prompt';
    throw new UserError(`cannot specify both ${given} and --prompt-file`);
  }
  if (texts.length > 1) throw new UserError('cannot specify both a task and --prompt');
  const [text] = texts;
  if (text !== undefined && text !== null) return { prompt: { text } };
  if (file === null) {
    // Document 000 has the task in the folder of the loop, and a plan is a task.
    if (options.name !== undefined || options.preset !== undefined || hasPlan(options)) return {};
    throw new UserError(NO_PROMPT);
  }
  if (file === '-') return { prompt: pipedPrompt(0), promptFrom: 'stdin' };
  return { prompt: givenFile('prompt file', file, resolve(file)), promptFrom: file };
}
