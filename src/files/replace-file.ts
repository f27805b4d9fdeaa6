import { randomUUID } from 'node:crypto';
import { closeSync, fchmodSync, fsyncSync, linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { codeOf, naming, openRegular } from './files.ts';

/** Writes a temporary file and renames it: a reader sees either the old file or the new one, never a part. */
export function replaceFile(path: string, content: string, options: ReplaceOptions = {}): void {
  writeBeside(path, content, options, (temporary) => renameSync(temporary, path));
}

/** Writes a file that is not there yet; false if there is one. Of two processes, only one succeeds. */
export function createFile(path: string, content: string, options: ReplaceOptions = {}): boolean {
  try {
    writeBeside(path, content, options, (temporary) => {
      linkSync(temporary, path);
      rmSync(temporary, { force: true });
    });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** The name of the temporary file cannot be guessed, so that no other process can put a link there. */
function writeBeside(
  path: string,
  content: string,
  options: ReplaceOptions,
  place: (temporary: string) => void,
): void {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}`);
  try {
    const descriptor = openRegular(temporary, 'create', options.mode ?? 0o666);
    try {
      // The umask may have taken more away than the caller wants.
      if (options.mode !== undefined) fchmodSync(descriptor, options.mode);
      naming(path, () => writeFileSync(descriptor, content));
      if (options.flush === true) fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    place(temporary);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

export interface ReplaceOptions {
  readonly mode?: number;
  /** Sync the content to disk, so that it survives a crash of the machine. */
  readonly flush?: boolean;
}
