/** The user's state folder and the small JSON files in it. */
import { lstatSync, unlinkSync, existsSync, readdirSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { isIn, namesIn, PRIVATE_FILE, PRIVATE_FOLDER, makeFolders } from '../files/files.ts';
import { replaceFile, createFile } from '../files/replace-file.ts';
import { exitCodeFor, reasonOf, UserError } from '../user-error.ts';

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

/** Makes the state folder; returns a warning if it is in the workspace, where git has to ignore it. */
export function prepareState(workspace: string): readonly string[] {
  const folder = stateFolder();
  try {
    makeFolders(folder, PRIVATE_FOLDER);
  } catch (error) {
    throw unwritable(error, folder);
  }
  const real = realpathSync(folder);
  if (!isIn(real, workspace)) return [];
  refuseForeign(real);
  createFile(join(real, '.gitignore'), '*\n');
  return [
    `warning: the state folder ${folder} is in the workspace, so the agent can change what Ralph believes; keep it elsewhere with ${STATE} if you can`,
  ];
}

/** Git must not ignore the user's own files. */
function refuseForeign(folder: string): void {
  const isOwn =
    existsSync(join(folder, 'registry')) || readdirSync(folder).every((name) => BEFORE_LOOPS.has(name));
  if (isOwn) return;
  throw new UserError(
    `${STATE} is ${folder}, which has other files in it; in a workspace it must be a folder of its own, for example .ralph-state`,
  );
}

/** What may be there before the first loop. */
const BEFORE_LOOPS: ReadonlySet<string> = new Set(['.gitignore', 'trust', 'sessions']);

/** The error for a state folder that cannot be written, such as a home that is read-only. */
export function unwritable(error: unknown, path: string): unknown {
  if (error instanceof UserError || !(error instanceof Error) || !('code' in error)) return error;
  return new UserError(
    `cannot write ${path}: ${reasonOf(error)}; Ralph keeps loops there, outside the workspace; set ${STATE} to a folder that can be written`,
    exitCodeFor(error),
    { cause: error },
  );
}
