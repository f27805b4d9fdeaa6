import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readJsonFile } from '../files/read-json.ts';
import { fits } from '../loop/shape.ts';
import { KEPT } from './spec-shape.ts';
import { removeQuietly, stateFolder, writeJson } from './state-folder.ts';

/** The environment and the command that a loop was started with. Only this user can read the file, since it has secrets. */
export interface Kept {
  readonly env: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
  readonly umask: number;
}

/** Keeps the environment of a loop until it ends. */
export function keep(id: string, environment: Kept, state: string = stateFolder()): void {
  // Every owner keeps it again, as a rule unchanged.
  if (!isDeepStrictEqual(kept(id, state), environment)) writeJson(join(state, 'kept'), id, environment);
}

export function kept(id: string, state: string = stateFolder()): Kept | null {
  const value = readJsonFile(join(state, 'kept', `${id}.json`), MAX_BYTES);
  return isKept(value) ? value : null;
}

/** An environment has at most a few MB, and JSON needs up to six bytes for a character. */
const MAX_BYTES = 64 * 2 ** 20;

function isKept(value: unknown): value is Kept {
  return fits(KEPT, value);
}

export function forget(id: string, state: string = stateFolder()): void {
  removeQuietly(join(state, 'kept', `${id}.json`));
}
