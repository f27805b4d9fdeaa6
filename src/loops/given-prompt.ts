/** The prompts that a user names: a file, or what is piped to a front; and prompt files that a front writes. */
import { lstatSync, statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { isInside, realPath, UnusableFile } from '../files/files.ts';
import { createFile, replaceFile } from '../files/replace-file.ts';
import { readGiven, readToEnd } from '../files/given-file.ts';
import { sizeText } from '../loop/counted.ts';
import { MAX_PROMPT_BYTES } from '../owner/prompt-source.ts';
import { reasonOf, UserError } from '../user-error.ts';

export { NO_PROMPT } from '../owner/prompt-source.ts';

/** A file that is read before every run; a pipe can be read only once, so its text is kept instead. */
export function fileOrText(path: string): { readonly file: string } | { readonly text: string } {
  const { text, isPipe } = readGiven(path, MAX_PROMPT_BYTES, TOO_LONG);
  return isPipe ? { text } : { file: path };
}

/** The same for a file that the user names; `what` says which file that is. */
export function givenFile(what: string, given: string, path: string): ReturnType<typeof fileOrText> {
  try {
    return fileOrText(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'ENOENT') throw new UserError(`${what} not found: ${given}`);
    if (code === 'EISDIR') throw new UserError(`${what} is a folder: ${given}`);
    throw new UserError(`cannot access ${what}: ${given}: ${reasonOf(error)}`);
  }
}

/** The prompt that is piped to a front, from its open stdin. */
export function pipedPrompt(stdin: number): { readonly text: string } {
  try {
    return { text: readToEnd(stdin, 'stdin', MAX_PROMPT_BYTES, TOO_LONG) };
  } catch (error) {
    throw error instanceof UnusableFile ? new UserError(`cannot read the prompt: ${error.message}`) : error;
  }
}

/** Writes a prompt file, and replaces an existing one only if that is forced; null if it is left alone. */
export function writePromptFile(
  path: string,
  text: string,
  force: boolean,
): 'created' | 'overwritten' | null {
  try {
    if (createFile(path, text)) return 'created';
    if (!force) return null;
    if (lstatSync(path).isDirectory()) throw new UserError(`cannot write ${path}: it is a folder`, 1);
    replaceFile(path, text);
    return 'overwritten';
  } catch (error) {
    if (error instanceof UserError || !(error instanceof Error) || !('code' in error)) throw error;
    throw new UserError(`cannot write ${path}: ${reasonOf(error)}`, 1, { cause: error });
  }
}

/** The path of a prompt file that must be in a workspace, and is given relative to it. Links are resolved, so that none leads out of it. */
export function promptFileIn(workspace: string, file: string): string {
  const path = realPath(resolve(workspace, file));
  if (isAbsolute(file) || !isInside(realPath(workspace), path))
    throw new UserError(
      `prompt_file must be a path in the workspace, relative to it; got ${JSON.stringify(file)}`,
    );
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === true) return path;
  throw new UserError(`prompt_file is no file: ${file}`);
}

const TOO_LONG = `too long for a prompt (maximum ${sizeText(MAX_PROMPT_BYTES)})`;
