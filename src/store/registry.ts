/** The registry of all loops of this user, in the state folder: one file per loop, so that loops can register in parallel. */
import { join } from 'node:path';
import { readJsonFile } from '../files/read-json.ts';
import { fields, fits } from '../loop/shape.ts';
import { loopId, loopNameRule, path } from './spec-shape.ts';
import { jsonFilesIn, removeQuietly, stateFolder, writeJson } from './state-folder.ts';

export interface RegisteredLoop {
  readonly id: string;
  readonly name: string;
  readonly workspace: string;
  /** The loop's own folder. */
  readonly folder: string;
}

export function register(loop: RegisteredLoop, state: string = stateFolder()): void {
  writeJson(join(state, 'loops'), loop.id, loop, 0o644);
}

export function unregister(id: string, state: string = stateFolder()): void {
  removeQuietly(join(state, 'loops', `${id}.json`));
}

/** All registered loops, in no particular order. Their folders may be gone. */
export function registered(state: string = stateFolder()): readonly RegisteredLoop[] {
  const folder = join(state, 'loops');
  return jsonFilesIn(folder).flatMap((file) => {
    const value = readJsonFile(join(folder, file));
    return isRegistered(value) && file === `${value.id}.json` ? [value] : [];
  });
}

function isRegistered(value: unknown): value is RegisteredLoop {
  return fits(REGISTERED, value);
}

const REGISTERED = fields({ id: loopId, name: loopNameRule, workspace: path, folder: path });
