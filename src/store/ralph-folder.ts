/** The folder of a workspace that is ralph's: what git sees of it, and the settings in it. */
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SETTINGS_FILE } from '../config/config.ts';
import { replaceFile } from './replace-file.ts';
import { isDiskFull, reasonOf, UserError } from '../user-error.ts';

/** `.ralph` with its own ignore file: no diff and no commit has it, except for the settings that a team shares. */
export function prepareFolder(workspace: string): void {
  const folder = join(workspace, '.ralph');
  const ignore = join(folder, '.gitignore');
  mkdirSync(folder, { recursive: true });
  // What somebody has written there themselves is left alone.
  if (!existsSync(ignore) || readFileSync(ignore, 'utf8') === ALL) replaceFile(ignore, ALL_BUT_SETTINGS);
}

const ALL = '*\n';
const ALL_BUT_SETTINGS = '*\n!settings.json\n';

/** Writes the shared settings. What was there before is kept beside them; its name is told. */
export function writeSettings(workspace: string, settings: object): { readonly backup: string | null } {
  const path = join(workspace, SETTINGS_FILE);
  const backup = existsSync(path) ? freeName(workspace, `${SETTINGS_FILE}.bak`) : null;
  try {
    prepareFolder(workspace);
    if (backup !== null) copyFileSync(path, join(workspace, backup));
    replaceFile(path, `${JSON.stringify(settings, null, 2)}\n`, { flush: true });
  } catch (error) {
    // The file aside that could not be written means nothing to anybody.
    throw unwritable(error, SETTINGS_FILE);
  }
  return { backup };
}

/** Nothing that was kept is written over. */
function freeName(workspace: string, name: string): string {
  let free = name;
  for (let number = 1; existsSync(join(workspace, free)); number++) free = `${name}.${number}`;
  return free;
}

/** What the system says when something cannot be written, in words for a user; anything else as it is. */
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
