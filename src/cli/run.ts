import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { LoopRequest } from '../owner/create-loop.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { begin } from './begin.ts';
import { flagSettings, type RunOptions } from './options.ts';

/** `ralph run`: creates a loop and drives it until it ends. */
export async function runLoop(
  task: string | null,
  options: RunOptions,
  command: readonly string[],
): Promise<number> {
  if (options.owner !== undefined) {
    const { own } = await import('./own.ts');
    return own(options.owner);
  }
  const prompt = promptOf(task, options);
  return begin({ prompt, options, command, settings: flagSettings(options), defaults: {} });
}

/** The prompt; an empty one counts as not given. */
function promptOf(task: string | null, { prompt, promptFile }: RunOptions): LoopRequest['prompt'] {
  const texts = [task, prompt].filter((text) => text !== null && text !== undefined && text !== '');
  const file = promptFile === undefined || promptFile === '' ? null : promptFile;
  if (texts.length > 0 && file !== null) {
    const given = prompt === undefined || prompt === '' ? 'a task' : '--prompt';
    throw new UserError(`cannot specify both ${given} and --prompt-file`);
  }
  if (texts.length > 1) throw new UserError('cannot specify both a task and --prompt');
  const [text] = texts;
  if (text !== undefined && text !== null) return { text };
  if (file === null) throw new UserError('must specify prompt (--prompt or --prompt-file)');
  if (file === '-') {
    const read = readFileSync(0, 'utf8');
    if (read.trim() === '') throw new UserError('--prompt-file -: stdin is empty; expected a prompt');
    return { text: read };
  }
  const path = resolve(file);
  try {
    const found = statSync(path);
    if (found.isDirectory()) throw new UserError(`prompt file is a folder: ${file}`);
    const read = readFileSync(path, 'utf8');
    // A pipe can only be read once.
    if (!found.isFile()) return { text: read };
  } catch (error) {
    if (error instanceof UserError) throw error;
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      throw new UserError(`prompt file not found: ${file}`);
    throw new UserError(`cannot access prompt file: ${file}: ${reasonOf(error)}`);
  }
  return { file: path };
}
