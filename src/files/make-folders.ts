import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from './files.ts';

/** Makes a folder and its parents. `mkdirSync` with `recursive` never returns below a folder that refuses any, such as /proc. */
export function makeFolders(path: string, mode: number = 0o777): void {
  if (existsSync(path)) return;
  if (!existsSync(dirname(path))) makeFolders(dirname(path), mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}
