/**
 * Which loops the daemon should own: one empty file per loop, named by its id, in `<state folder>/background`.
 *
 * 1. An entry is made before the command that starts or resumes a loop gives the loop away.
 * 2. It is taken away by the owner of the loop, while it still has the lock, once the loop has ended or is paused. So it
 *    cannot be taken away after another command has made it again.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn, PRIVATE_FILE, PRIVATE_FOLDER } from '../files/files.ts';
import { makeFolders } from '../files/make-folders.ts';
import { replaceFile } from '../files/replace-file.ts';
import { fits } from '../loop/shape.ts';
import { loopId } from './spec-shape.ts';
import { removeQuietly, stateFolder } from './state-folder.ts';

/** The ids of the loops that the daemon should own. */
export function enlisted(): readonly string[] {
  return namesIn(backgroundFolder()).filter((name) => fits(loopId, name));
}

/** Whether the daemon should own a loop. */
export function isEnlisted(id: string): boolean {
  return existsSync(join(backgroundFolder(), id));
}

/** Enters a loop; a watching daemon notices it, also if it was entered before. */
export function enlist(id: string): void {
  makeFolders(backgroundFolder(), PRIVATE_FOLDER);
  replaceFile(join(backgroundFolder(), id), '', { mode: PRIVATE_FILE, flush: true });
}

export function dismiss(id: string): void {
  removeQuietly(join(backgroundFolder(), id));
}

export function backgroundFolder(): string {
  return join(stateFolder(), 'background');
}
