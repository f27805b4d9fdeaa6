import { join } from 'node:path';
import { readJson, removeQuietly, stateFolder, writeAside } from './state-folder.ts';

/** The environment and the command that a loop was started with: readable for this user only. */
export interface Kept {
  readonly env: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
  /** Absent in files of earlier versions. */
  readonly umask?: number;
}

/** Keeps the environment of a loop until it ends. */
export function keep(id: string, secrets: Kept, state: string = stateFolder()): void {
  writeAside(join(state, 'kept'), id, secrets, 0o600);
}

/** The kept environment of a loop; null where there is none. */
export function kept(id: string, state: string = stateFolder()): Kept | null {
  const value = readJson(join(state, 'kept', `${id}.json`));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `keep` into a folder of this user
  return value === null ? null : (value as Kept);
}

export function forget(id: string, state: string = stateFolder()): void {
  removeQuietly(join(state, 'kept', `${id}.json`));
}
