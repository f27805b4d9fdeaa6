/** The user's state folder and the small JSON files in it. */
import { lstatSync, unlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { namesIn, PRIVATE_FILE, PRIVATE_FOLDER } from '../files/files.ts';
import { makeFolders } from '../files/make-folders.ts';
import { replaceFile } from '../files/replace-file.ts';

/** `$RALPH_STATE`, else `$XDG_STATE_HOME/ralph`, by default `~/.local/state/ralph`. */
export function stateFolder(env: NodeJS.ProcessEnv = process.env): string {
  const chosen = env[STATE] ?? '';
  if (chosen !== '') return resolve(chosen);
  const configured = env['XDG_STATE_HOME'];
  const base =
    configured !== undefined && isAbsolute(configured) ? configured : join(homedir(), '.local', 'state');
  return join(base, 'ralph');
}

/** Puts the state elsewhere, for example into a container's workspace. */
export const STATE = 'RALPH_STATE';

export function removeQuietly(path: string): void {
  try {
    // Mostly there is none, and checking is much cheaper than an error. Not `rmSync`, which loads more of Node.js.
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) unlinkSync(path);
  } catch {
    // A state folder that is not a folder has none.
  }
}

/** Writes `<id>.json`; a reader never sees a part of it. */
export function writeJson(folder: string, id: string, value: unknown): void {
  makeFolders(folder, PRIVATE_FOLDER);
  replaceFile(join(folder, `${id}.json`), `${JSON.stringify(value)}\n`, { mode: PRIVATE_FILE });
}

export function jsonFilesIn(folder: string): readonly string[] {
  return namesIn(folder).filter((name) => name.endsWith('.json') && !name.startsWith('.'));
}
