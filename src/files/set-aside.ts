import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';

/** Moves a file of any kind, unread, into a folder, and returns its new path; null if that is not possible. */
export function setAside(path: string, folder: string): string | null {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
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
