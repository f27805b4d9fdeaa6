/** The `.ralph` folder of a workspace: its `.gitignore` and the shared settings. */
import { basename, join } from 'node:path';
import { SETTINGS_FILE } from '../config/config.ts';
import { below } from '../files/below.ts';
import { readRegular, UnusableFile } from '../files/files.ts';
import { createFile, replaceFile } from '../files/replace-file.ts';
import { exitCodeFor, systemErrorText, UserError } from '../user-error.ts';

/** Creates `.ralph` with a `.gitignore` that excludes everything but the settings that a team shares. */
export function prepareFolder(workspace: string): void {
  inRalphFolder(workspace, (folder) => {
    const ignore = join(folder, '.gitignore');
    const written = readRegular(ignore)?.toString('utf8');
    // Keep a file that the user wrote.
    if (written === undefined) replaceFile(ignore, IGNORE_ALL_BUT_SETTINGS);
  });
}

/** Calls `use` with a path to `.ralph` that is valid during the call; refuses a `.ralph` that is no folder of its own. */
export function inRalphFolder<T>(workspace: string, use: (folder: string) => T): T {
  return below(workspace, ['.ralph'], { make: true }, use);
}

const IGNORE_ALL_BUT_SETTINGS = '*\n!settings.json\n';

/** Writes the shared settings; `backup` is the path of the copy of earlier settings. */
export function writeSettings(workspace: string, settings: object): { readonly backup: string | null } {
  try {
    prepareFolder(workspace);
    return inRalphFolder(workspace, (folder) => {
      const path = join(folder, basename(SETTINGS_FILE));
      const backup = keepCopy(path);
      replaceFile(path, `${JSON.stringify(settings, null, 2)}\n`, { flush: true });
      return { backup: backup === null ? null : join('.ralph', basename(backup)) };
    });
  } catch (error) {
    // The error names a temporary file, which means nothing to the user.
    throw unwritable(error, SETTINGS_FILE);
  }
}

/** Copies a file beside itself under a free name; null if there is no file. */
function keepCopy(path: string): string | null {
  const content = readRegular(path);
  if (content === null) return null;
  let copy = `${path}.bak`;
  for (let number = 1; !createFile(copy, content.toString('utf8')); number++) copy = `${path}.bak.${number}`;
  return copy;
}

/** An error of the file system as a message for the user; any other error as it is. */
export function cannotWrite(error: unknown, path: string): unknown {
  const isNamed = error instanceof Error && 'path' in error && typeof error.path === 'string';
  return unwritable(error, isNamed ? String(error.path) : path);
}

function unwritable(error: unknown, path: string): unknown {
  if (error instanceof UnusableFile)
    return new UserError(`cannot write ${path}: ${error.message}; remove it or move it away`, 2, {
      cause: error,
    });
  if (error instanceof UserError || !(error instanceof Error) || !('code' in error)) return error;
  return new UserError(systemErrorText(error, path), exitCodeFor(error), { cause: error });
}
