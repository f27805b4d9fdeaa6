import { join } from 'node:path';
import { readJson, removeQuietly, stateFolder, writeAside } from './state-folder.ts';

/** The environment of whoever started a loop, and its command as it was given: readable for this user only. */
export interface Kept {
  readonly env: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
}

export function keep(id: string, secrets: Kept, state: string = stateFolder()): void {
  writeAside(join(state, 'kept'), id, secrets, 0o600);
}

export function kept(id: string, state: string = stateFolder()): Kept | null {
  const value = readJson(join(state, 'kept', `${id}.json`));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `keep`, and nobody else may write there
  return value === null ? null : (value as Kept);
}

export function forget(id: string, state: string = stateFolder()): void {
  removeQuietly(join(state, 'kept', `${id}.json`));
}
