import { realpathSync } from 'node:fs';
import { sizeText } from '../loop/counted.ts';
import { readRegular, UnusableFile } from '../files/files.ts';
import { readGiven, readToEnd } from '../files/given-file.ts';
import { realPath } from '../files/paths.ts';
import type { PromptSource } from '../store/spec.ts';
import { reasonOf, UserError } from '../user-error.ts';

/** A file that is read before every run; a pipe can be read only once, so its text is kept instead. */
export function fileOrText(path: string): { readonly file: string } | { readonly text: string } {
  const { text, isPipe } = readGiven(path, MAX_PROMPT_BYTES, TOO_LONG);
  return isPipe ? { text } : { file: path };
}

/** The prompt that is piped to this process. */
export function promptFromStdin(): { readonly text: string } {
  try {
    return { text: readToEnd(0, 'stdin', MAX_PROMPT_BYTES, TOO_LONG) };
  } catch (error) {
    throw error instanceof UnusableFile ? new UserError(`cannot read the prompt: ${error.message}`) : error;
  }
}

/** No model reads as much. */
const MAX_PROMPT_BYTES = 10 * 2 ** 20;
const TOO_LONG = `too long for a prompt (maximum ${sizeText(MAX_PROMPT_BYTES)})`;

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
