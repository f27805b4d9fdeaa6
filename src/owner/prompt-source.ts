import { problemWithName } from '../loop/names.ts';
import { realpathSync } from 'node:fs';
import { UnusableFile, codeOf, readRegular, realPath } from '../files/files.ts';
import type { PromptSource } from '../home/spec.ts';
import { UserError } from '../user-error.ts';
import { basename, join } from 'node:path';
import { below } from '../files/below.ts';
import { createFile } from '../files/replace-file.ts';
import type { Policy } from '../loop/policy.ts';
import { inWorkspaceFolder } from '../workspace/workspace-folder.ts';
import { WorkspaceFolder } from '../home/home.ts';

export const NO_PROMPT = 'must specify prompt (--prompt or --prompt-file)';

/** No model reads as much. */
export const MAX_PROMPT_BYTES: number = 10 * 2 ** 20;

/** What a prompt is made of, before the sections that a run adds. */
export interface PromptBase {
  readonly text: string;
  readonly isSpecification: boolean;
}

/**
 * Reads the base of the prompt for each run; uses the text if the file of a specification is gone. The agent may have replaced the
 * file: a FIFO is not waited for, and a link does not show an agent in a sandbox what the sandbox hides.
 */
export function readBase(
  prompt: PromptSource,
  { followLinks }: { readonly followLinks: boolean } = { followLinks: true },
): PromptBase {
  const read = (path: string): string => readPrompt(path, followLinks);
  if ('spec' in prompt) {
    const specification = readOrNull(() => read(prompt.spec));
    if (specification !== null) return { text: specification, isSpecification: true };
  }
  const text = 'text' in prompt ? prompt.text : read(prompt.file);
  return { text, isSpecification: 'isSpecification' in prompt };
}

function readPrompt(path: string, followLinks: boolean): string {
  const real = realpathSync.native(path);
  if (real !== path && !followLinks)
    throw new UnusableFile(path, `a link to ${real} now, which a loop in a sandbox does not follow`);
  return readRegular(real, MAX_PROMPT_BYTES)?.toString('utf8') ?? '';
}

/** The prompt with the real paths of its files, so that a link which appears later is noticed. */
export function withRealPaths(prompt: PromptSource): PromptSource {
  if ('file' in prompt) return { ...prompt, file: realPath(prompt.file) };
  return 'spec' in prompt ? { ...prompt, spec: realPath(prompt.spec) } : prompt;
}

function readOrNull(read: () => string): string | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/**
 * The prompt of a loop that was started without one: `TASK.md` of document 000 in the workspace folder, which is read once, or else
 * the work on its plan.
 */
export function promptWithoutTask(
  workspace: string,
  name: string | null,
  { taskFolder, plan }: Policy,
): PromptSource {
  if (!taskFolder && plan === null) throw new UserError(NO_PROMPT);
  const workspaceFolder =
    !taskFolder || name === null || problemWithName(name) !== null
      ? null
      : new WorkspaceFolder(workspace, name);
  const text = workspaceFolder === null ? null : readTask(workspaceFolder);
  if (text === null) {
    if (plan !== null) return { text: planTask(plan.file) };
    const where =
      workspaceFolder === null
        ? 'name the loop of a TASK.md with --name'
        : `write ${workspaceFolder.taskFile}`;
    throw new UserError(`TASK.md not found and no prompt provided; pass a task, or ${where}`);
  }
  // The newline that was added to the prompt when the file was made.
  return { text: text.replace(/\n$/, '') };
}

function planTask(file: string): string {
  return `Work through the plan ${file}: do its next open item, verify the result, and mark the item as done in the file. Then go on with the next one.`;
}

/** Null if there is none. */
function readTask({ workspace, taskParts, taskFile }: WorkspaceFolder): string | null {
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
export function keepTask(workspaceFolder: WorkspaceFolder, prompt: PromptSource): void {
  if (!('text' in prompt) || workspaceFolder.isUsersTask) return;
  const { text } = prompt;
  inWorkspaceFolder(workspaceFolder, workspaceFolder.task, (folder) =>
    createFile(join(folder, basename(workspaceFolder.taskFile)), `${text}\n`),
  );
}
