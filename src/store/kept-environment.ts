import { join } from 'node:path';
import { readJson, removeQuietly, stateFolder, writeJson } from './state-folder.ts';

/** The environment and the command that a loop was started with. Only this user can read the file, since it has secrets. */
export interface Kept {
  readonly env: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
  /** Absent in files of earlier versions. */
  readonly umask?: number;
}

/** Keeps the environment of a loop until it ends. */
export function keep(id: string, environment: Kept, state: string = stateFolder()): void {
  writeJson(join(state, 'kept'), id, environment);
}

export function kept(id: string, state: string = stateFolder()): Kept | null {
  const value = readJson(join(state, 'kept', `${id}.json`));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `keep` into a folder of this user
  return value === null ? null : (value as Kept);
}

export function forget(id: string, state: string = stateFolder()): void {
  removeQuietly(join(state, 'kept', `${id}.json`));
}
