import { existsSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { PRIVATE_FOLDER } from './files.ts';
import { makeFolders } from './make-folders.ts';

/** Moves a file of any kind, unread, into a folder, and returns its new path; null if that is not possible. */
export function setAside(path: string, folder: string): string | null {
  try {
    makeFolders(folder, PRIVATE_FOLDER);
    const name = basename(path);
    for (let number = 0; ; number++) {
      const target = join(folder, number === 0 ? name : `${name}.${number}`);
      if (existsSync(target)) continue;
      renameSync(path, target);
      return target;
    }
  } catch {
    return null;
  }
}
