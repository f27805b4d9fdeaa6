import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readJsonFile } from '../files/files.ts';
import { fits } from '../loop/shape.ts';
import { forgetNotices } from './notice-secrets.ts';
import { SAVED_ENVIRONMENT } from './spec.ts';
import { removeQuietly, stateFolder, writeJson } from './state-folder.ts';
import type { Environment } from '../process/process.ts';

/** The environment and the command that a loop was started with. Only this user can read the file, since it has secrets. */
export interface SavedEnvironment {
  readonly env: Environment;
  readonly argv: readonly string[];
  readonly umask: number;
}

/** Saves the environment of a loop until it ends. */
export function saveEnvironment(
  id: string,
  environment: SavedEnvironment,
  state: string = stateFolder(),
): void {
  // Every owner saves it again, as a rule unchanged.
  if (!isDeepStrictEqual(savedEnvironment(id, state), environment))
    writeJson(join(state, 'kept'), id, environment);
}

export function savedEnvironment(id: string, state: string = stateFolder()): SavedEnvironment | null {
  const value = readJsonFile(join(state, 'kept', `${id}.json`), MAX_BYTES);
  return isSaved(value) ? value : null;
}

/** An environment has at most a few MB, and JSON needs up to six bytes for a character. */
const MAX_BYTES = 64 * 2 ** 20;

function isSaved(value: unknown): value is SavedEnvironment {
  return fits(SAVED_ENVIRONMENT, value);
}

/** Forgets it, and the addresses of the notices of the loop. */
/** Removes the environment of a loop, and what is secret of its notices (`notice-secrets.ts`). */
export function forgetEnvironment(id: string, state: string = stateFolder()): void {
  forgetNotices(id, state);
  removeQuietly(join(state, 'kept', `${id}.json`));
  removeQuietly(join(state, 'notices', `${id}.json`));
}
