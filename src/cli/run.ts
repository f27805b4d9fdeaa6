import { resolve } from 'node:path';
import { givenFile, promptFromStdin } from '../owner/prompt-source.ts';
import { NO_PROMPT } from '../owner/task-file.ts';
import { UserError } from '../user-error.ts';
import type { StartRequest } from '../owner/make-request.ts';
import { begin } from './begin.ts';
import { flagSettings, type RunOptions } from './options.ts';

/** `ralph run`: creates a loop and drives it until it ends. */
export async function runLoop(
  task: string | null,
  options: RunOptions,
  command: readonly string[],
): Promise<number> {
  const given = promptOf(task, options);
  return begin({ start: { ...given, command, settings: flagSettings(options) }, options });
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
    // Document 000 has the task in the folder of the loop.
    if (options.name !== undefined || options.preset !== undefined) return {};
    throw new UserError(NO_PROMPT);
  }
  if (file === '-') return { prompt: promptFromStdin(), promptFrom: 'stdin' };
  return { prompt: givenFile('prompt file', file, resolve(file)), promptFrom: file };
}
