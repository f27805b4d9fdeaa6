/** The `.ralph` folder of a workspace: its `.gitignore` and the shared settings. */
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SETTINGS_FILE } from '../config/config.ts';
import { makeFolders } from './make-folders.ts';
import { replaceFile } from './replace-file.ts';
import { isDiskFull, reasonOf, UserError } from '../user-error.ts';

/** Creates `.ralph` with a `.gitignore` that excludes everything but the settings that a team shares. */
export function prepareFolder(workspace: string): void {
  const folder = join(workspace, '.ralph');
  const ignore = join(folder, '.gitignore');
  makeFolders(folder);
  // Keep a file that the user wrote.
  if (!existsSync(ignore) || readFileSync(ignore, 'utf8') === IGNORE_ALL)
    replaceFile(ignore, IGNORE_ALL_BUT_SETTINGS);
}

/** What earlier versions wrote. */
const IGNORE_ALL = '*\n';
const IGNORE_ALL_BUT_SETTINGS = '*\n!settings.json\n';

/** Writes the shared settings; `backup` is the path of the copy of earlier settings. */
export function writeSettings(workspace: string, settings: object): { readonly backup: string | null } {
  const path = join(workspace, SETTINGS_FILE);
  const backup = existsSync(path) ? freeName(workspace, `${SETTINGS_FILE}.bak`) : null;
  try {
    prepareFolder(workspace);
    if (backup !== null) copyFileSync(path, join(workspace, backup));
    replaceFile(path, `${JSON.stringify(settings, null, 2)}\n`, { flush: true });
  } catch (error) {
    // The error names a temporary file, which means nothing to the user.
    throw unwritable(error, SETTINGS_FILE);
  }
  return { backup };
}

function freeName(workspace: string, name: string): string {
  let free = name;
  for (let number = 1; existsSync(join(workspace, free)); number++) free = `${name}.${number}`;
  return free;
}

/** An error of the file system as a message for the user; any other error as it is. */
export function cannotWrite(error: unknown, path: string): unknown {
  const isNamed = error instanceof Error && 'path' in error && typeof error.path === 'string';
  return unwritable(error, isNamed ? String(error.path) : path);
}

function unwritable(error: unknown, path: string): unknown {
  if (error instanceof UserError || !(error instanceof Error) || !('code' in error)) return error;
  return new UserError(`cannot write ${path}: ${reasonOf(error)}`, isDiskFull(error) ? 3 : 2, {
    cause: error,
  });
}
