/**
 * The loops of all workspaces of this user, and what must be kept for them but may not lie in a workspace: one file
 * each, so that many can be written at once. Under the XDG state folder.
 */
import { join } from 'node:path';
import { namesIn, readJson, removeQuietly, stateFolder, writeAside } from './state-folder.ts';

export interface RegisteredLoop {
  readonly id: string;
  readonly name: string;
  readonly workspace: string;
  /** The loop's own folder. */
  readonly folder: string;
}

export function register(loop: RegisteredLoop, state: string = stateFolder()): void {
  writeAside(join(state, 'loops'), loop.id, loop, 0o644);
}

export function unregister(id: string, state: string = stateFolder()): void {
  removeQuietly(join(state, 'loops', `${id}.json`));
}

/** All loops that were ever registered and not removed, in no order. */
export function registered(state: string = stateFolder()): readonly RegisteredLoop[] {
  const folder = join(state, 'loops');
  return namesIn(folder).flatMap((file) => {
    const value = readJson(join(folder, file));
    return isRegistered(value) ? [value] : [];
  });
}

function isRegistered(value: unknown): value is RegisteredLoop {
  return typeof value === 'object' && value !== null && 'id' in value && 'name' in value && 'folder' in value;
}
