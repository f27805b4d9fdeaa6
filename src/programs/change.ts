/**
 * Changes of files that belong to other programs.
 *
 * 1. All changes are made, or none: what was changed before an error is put back.
 * 2. A file is replaced as a whole, and only if it still is what the change was made for.
 * 3. A link is followed only to a place within the given folders, and stays a link.
 */
import { accessSync, constants, readlinkSync, realpathSync, rmdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { codeOf, foundAt, namesIn, readRegular, makeFolders, isIn } from '../files/files.ts';
import { createFile, replaceFile } from '../files/replace-file.ts';
import { reasonOf, UserError } from '../user-error.ts';

export interface Change {
  /** As the user knows it; may be a link. */
  readonly path: string;
  /** The present content; null if there is no file. */
  readonly before: string | null;
  /** The new content; null removes the file. */
  readonly after: string | null;
  /** Keep a copy of what was there, beside it. */
  readonly backup: boolean;
}

/** A change that was made, with the path of the copy. */
export interface Made {
  readonly change: Change;
  readonly backup: string | null;
}

/** Another program has changed a file meanwhile. */
export class ChangedMeanwhile extends Error {}

/** The text of a file within these folders; null if there is none. Throws for links to other places and for what is no text. */
export function textAt(path: string, roots: readonly string[]): string | null {
  const content = refusing(path, () => readRegular(realPath(path, roots), MAX_BYTES));
  if (content === null) return null;
  const text = content.toString('utf8');
  if (!Buffer.from(text).equals(content)) throw refused(path, 'it is not UTF-8 text');
  return text;
}

const MAX_BYTES = 16 * 1024 * 1024;

/** Makes the changes in their order. */
export function make(changes: readonly Change[], roots: readonly string[], now: Date): readonly Made[] {
  for (const { path } of changes) refuseUnwritable(path, roots);
  const made: Made[] = [];
  try {
    for (const change of changes) {
      if (textAt(change.path, roots) !== change.before) throw new ChangedMeanwhile(change.path);
      const backup =
        change.backup && change.before !== null ? keep(change.path, change.before, roots, now) : null;
      made.push({ change, backup });
      write(change, change.after, roots);
    }
    return made;
  } catch (error) {
    for (const one of made.toReversed()) putBack(one, roots);
    throw error instanceof UserError || error instanceof ChangedMeanwhile
      ? error
      : new UserError(
          `cannot write ${made.at(-1)?.change.path ?? ''}: ${reasonOf(error)}; nothing was changed`,
          2,
          {
            cause: error,
          },
        );
  }
}

/** The copies of a file that `make` kept, the newest first. */
export function backupsOf(path: string): readonly string[] {
  return namesIn(dirname(path))
    .filter((name) => name.startsWith(`${basename(path)}${BACKUP}`))
    .toReversed()
    .map((name) => join(dirname(path), name));
}

const BACKUP = '.ralph-backup-';

/** Removes a folder that is empty. */
export function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It is in use, or gone already.
  }
}

/** Where a file really is. A file that does not exist yet is below the real path of the nearest folder. */
function realPath(path: string, roots: readonly string[]): string {
  const real = resolved(path);
  if (roots.some((root) => isIn(real, resolved(root)))) return real;
  throw refused(path, `it leads to ${real}, which is outside of ${roots.join(' and ')}`);
}

function resolved(path: string): string {
  const found = foundAt(path);
  if (found !== null) {
    try {
      return realpathSync(path);
    } catch (error) {
      if (!found.isSymbolicLink() || codeOf(error) !== 'ENOENT') throw error;
      throw refused(path, `it is a link to ${readlinkSync(path)}, which does not exist`);
    }
  }
  const folder = dirname(path);
  return folder === path ? path : join(resolved(folder), basename(path));
}

/** Also for root, whom the system lets write everything: a file without the permission to write is meant to stay as it is. */
function refuseUnwritable(path: string, roots: readonly string[]): void {
  const real = realPath(path, roots);
  const found = foundAt(real);
  if (found !== null && (found.mode & 0o222) === 0) throw refused(path, 'it is read-only');
  let folder = dirname(real);
  while (foundAt(folder) === null && dirname(folder) !== folder) folder = dirname(folder);
  refusing(path, () => {
    if (found !== null) accessSync(real, constants.W_OK);
    accessSync(folder, constants.W_OK);
  });
}

function write({ path, backup }: Change, text: string | null, roots: readonly string[]): void {
  const real = realPath(path, roots);
  if (text === null) return rmSync(real);
  makeFolders(dirname(real));
  const mode = foundAt(real)?.mode;
  // A file that Ralph can write again need not survive a crash of the machine.
  replaceFile(real, text, { ...(mode === undefined ? {} : { mode: mode & 0o777 }), flush: backup });
}

function keep(path: string, text: string, roots: readonly string[], now: Date): string {
  const mode = (foundAt(realPath(path, roots))?.mode ?? 0o600) & 0o777;
  const stamp = now.toISOString().replaceAll(/[-:]/g, '').replace('.', '-');
  for (let number = 1; ; number++) {
    const backup = `${path}${BACKUP}${stamp}${number === 1 ? '' : `-${number}`}`;
    if (createFile(backup, text, { mode, flush: true })) return backup;
  }
}

function putBack({ change, backup }: Made, roots: readonly string[]): void {
  try {
    if (textAt(change.path, roots) === change.after) write(change, change.before, roots);
    if (backup !== null && textAt(change.path, roots) === change.before) rmSync(backup);
  } catch {
    // The error that is reported comes first; the copy is still there.
  }
}

function refusing<T>(path: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw error instanceof UserError ? error : refused(path, reasonOf(error));
  }
}

function refused(path: string, why: string): UserError {
  return new UserError(`cannot change ${path}: ${why}; nothing was changed`);
}
