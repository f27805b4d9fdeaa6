import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';

/**
 * The file that a command names, looked up as a shell would, so that a missing one is told before anything starts: an
 * agent that exits 127 by itself is something else.
 */
export function findCommand(name: string, searchPath: string, cwd: string): FoundCommand {
  const candidates =
    name.includes('/') || name === ''
      ? [isAbsolute(name) ? name : resolve(cwd, name)]
      : searchPath.split(':').map((folder) => join(resolve(cwd, folder), name));
  let there: string | null = null;
  for (const path of candidates) {
    if (name === '' || !isFile(path)) continue;
    there ??= path;
    if (isExecutable(path)) return { found: 'executable', path };
  }
  return there === null ? { found: 'nothing' } : { found: 'not-executable', path: there };
}

export type FoundCommand =
  | { readonly found: 'executable'; readonly path: string }
  | { readonly found: 'not-executable'; readonly path: string }
  | { readonly found: 'nothing' };

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
