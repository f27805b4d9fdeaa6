import { realpathSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/** The path without symbolic links, even if its last parts do not exist. */
export function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), relative(parent, resolve(path)));
  }
}

/** Whether a path is below a folder. */
export function isInside(folder: string, path: string): boolean {
  const route = relative(folder, path);
  return route !== '' && route !== '..' && !route.startsWith('../');
}
