import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A PATH without the folders that have `ralph`: `npm link` may have put it there. */
export function withoutRalph(path: string = ''): string {
  return path
    .split(delimiter)
    .filter((folder) => !existsSync(join(folder, 'ralph')))
    .join(delimiter);
}
