import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Whether a folder is in a repository. Cheaper than running git. */
export function isInRepository(folder: string): boolean {
  return existsSync(join(folder, '.git')) || (dirname(folder) !== folder && isInRepository(dirname(folder)));
}
