import { realpathSync, statSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { replaceFile } from '../files/replace-file.ts';
import { reasonOf, UserError } from '../user-error.ts';

/**
 * Writes a file that the user has named, as a whole or not at all. A link keeps its target, and a device or a pipe is written to.
 * Throws with the option that named it.
 */
export function writeWhole(option: string, path: string, text: string): void {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found !== undefined && !found.isFile()) writeFileSync(path, text);
    else if (found === undefined) replaceFile(resolve(path), text);
    else replaceFile(realpathSync(path), text, { mode: found.mode & 0o777 });
  } catch (error) {
    throw new UserError(`${option}: cannot write ${path}: ${reasonOf(error)}`, 2, { cause: error });
  }
}
