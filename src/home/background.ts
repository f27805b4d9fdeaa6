/**
 * Which loops the daemon should own: one empty file per loop, named by its id, in `<state folder>/background`. A loop that it could
 * not take over has the reason in its file instead, until it is entered again or a person takes it over.
 *
 * 1. An entry is made before the command that starts or resumes a loop gives the loop away.
 * 2. It is taken away by the owner of the loop, while it still has the lock, once the loop has ended or is paused. So it
 *    cannot be taken away after another command has made it again.
 */
import { join } from 'node:path';
import { foundAt, namesIn, PRIVATE_FILE, PRIVATE_FOLDER, textOf, makeFolders } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { joinLines } from '../loop/excerpt.ts';
import { fits } from '../loop/shape.ts';
import { loopId } from './spec.ts';
import { removeQuietly, stateFolder } from './state-folder.ts';

/** The ids of the loops that the daemon should own. */
export function enlisted(): readonly string[] {
  return namesIn(backgroundFolder()).filter((name) => fits(loopId, name) && isEnlisted(name));
}

/** Whether the daemon should own a loop. */
export function isEnlisted(id: string): boolean {
  const found = foundAt(entryOf(id));
  return found !== null && !(found.isFile() && found.size > 0);
}

/** Enters a loop; a watching daemon notices it, also if it was entered before. */
export function enlist(id: string): void {
  makeFolders(backgroundFolder(), PRIVATE_FOLDER);
  replaceFile(entryOf(id), '', { mode: PRIVATE_FILE, flush: true });
}

/** Takes the entry of a loop away, and why it was refused. */
export function dismiss(id: string): void {
  removeQuietly(entryOf(id));
}

/** Notes why the daemon cannot own a loop, which is no longer entered then; the entry is taken away where that cannot be written. */
export function refuse(id: string, why: string): void {
  try {
    replaceFile(entryOf(id), `${joinLines(why, ' | ').slice(0, MAX_CHARS)}\n`, { mode: PRIVATE_FILE });
  } catch {
    dismiss(id);
  }
}

/** Why the daemon could not own a loop the last time; null if it could, or will see. */
export function whyRefused(id: string): string | null {
  const why = textOf(entryOf(id), 4 * MAX_CHARS)?.trim() ?? '';
  return why === '' ? null : why;
}

/** A person takes a loop over that was refused. */
export function forgetRefusal(id: string): void {
  if (!isEnlisted(id)) dismiss(id);
}

const MAX_CHARS = 2000;

function entryOf(id: string): string {
  return join(backgroundFolder(), id);
}

export function backgroundFolder(): string {
  return join(stateFolder(), 'background');
}
