/** `TASK.md` of document 000: the task in the user's words, on the desk. It is read once, when a loop starts without a prompt. */
import { basename, join } from 'node:path';
import { below } from '../files/below.ts';
import { codeOf, readRegular, UnusableFile } from '../files/files.ts';
import { createFile } from '../files/replace-file.ts';
import type { Policy } from '../loop/policy.ts';
import { onDesk } from '../store/desk.ts';
import { problemWithName } from '../store/names.ts';
import type { PromptSource } from '../store/spec.ts';
import { Desk } from '../store/store.ts';
import { UserError } from '../user-error.ts';
import { readBase } from './prompt-source.ts';

/** The prompt of a loop that was started without one. */
export function promptFromTaskFile(
  workspace: string,
  name: string | null,
  { taskFolder }: Policy,
): PromptSource {
  if (!taskFolder) throw new UserError(NO_PROMPT);
  const desk = name === null || problemWithName(name) !== null ? null : new Desk(workspace, name);
  const text = desk === null ? null : readTask(desk);
  if (text === null) {
    const where = desk === null ? 'name the loop of a TASK.md with --name' : `write ${desk.taskFile}`;
    throw new UserError(`TASK.md not found and no prompt provided; pass a task, or ${where}`);
  }
  // The newline that was added to the prompt when the file was made.
  return { text: text.replace(/\n$/, '') };
}

export const NO_PROMPT = 'must specify prompt (--prompt or --prompt-file)';

/** Null if there is none. */
function readTask({ workspace, taskParts, taskFile }: Desk): string | null {
  try {
    const read = (folder: string): Buffer | null => readRegular(join(folder, basename(taskFile)), MAX_BYTES);
    return below(workspace, taskParts, { make: false }, read)?.toString('utf8') ?? null;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    const why = error instanceof UnusableFile ? error.reason : String(error);
    throw new UserError(`cannot read ${taskFile}: ${why}`);
  }
}

const MAX_BYTES = 16 * 2 ** 20;

/** A prompt whose file is not read again; where a policy has no task folder, the prompt as it is. */
export function readOnce(prompt: PromptSource, { taskFolder }: Policy): PromptSource {
  return taskFolder && 'file' in prompt ? { text: readBase(prompt).text } : prompt;
}

/** Writes the task where none is; an existing file is never overwritten. A task folder of the user has only the user's. */
export function keepTask(desk: Desk, prompt: PromptSource): void {
  if (!('text' in prompt) || desk.isUsersTask) return;
  const { text } = prompt;
  onDesk(desk, desk.task, (folder) => createFile(join(folder, basename(desk.taskFile)), `${text}\n`));
}
