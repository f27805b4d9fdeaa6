import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';

/**
 * Resolves a command name to a file as a shell does. Looking it up before the start tells a missing command from an agent
 * that exits with 127 itself.
 */
export function findCommand(name: string, searchPath: string, cwd: string): FoundCommand {
  const candidates =
    name.includes('/') || name === ''
      ? [isAbsolute(name) ? name : resolve(cwd, name)]
      : searchPath.split(':').map((folder) => join(resolve(cwd, folder), name));
  let notExecutable: string | null = null;
  for (const path of candidates) {
    if (name === '' || !isFile(path)) continue;
    notExecutable ??= path;
    if (isExecutable(path)) return { found: 'executable', path };
  }
  return notExecutable === null ? { found: 'nothing' } : { found: 'not-executable', path: notExecutable };
}

export type FoundCommand =
  | { readonly found: 'executable'; readonly path: string }
  | { readonly found: 'not-executable'; readonly path: string }
  | { readonly found: 'nothing' };

function isFile(path: string): boolean {
  try {
    // Most folders of PATH do not have it, and an error takes ten times as long.
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
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
