import { lstatSync } from 'node:fs';
import { createFile, replaceFile } from '../files/replace-file.ts';
import { reasonOf, UserError } from '../user-error.ts';

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
