/** A state folder that `RALPH_STATE` puts into the workspace, for example of a container that keeps nothing else. */
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { PRIVATE_FOLDER } from '../files/files.ts';
import { makeFolders } from '../files/make-folders.ts';
import { createFile } from '../files/replace-file.ts';
import { exitCodeFor, reasonOf, UserError } from '../user-error.ts';
import { STATE, stateFolder } from './state-folder.ts';

/** Makes the state folder; returns a warning if it is in the workspace, where git has to ignore it. */
export function prepareState(workspace: string): readonly string[] {
  const folder = stateFolder();
  try {
    makeFolders(folder, PRIVATE_FOLDER);
  } catch (error) {
    throw unwritable(error, folder);
  }
  const real = realpathSync(folder);
  if (real !== workspace && !real.startsWith(`${workspace}/`)) return [];
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
