import { join } from 'node:path';
import { PRIVATE_FILE, PRIVATE_FOLDER, makeFolders, readRegular } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { stateFolder } from './state-folder.ts';

/** Whether it was not said before that the machine cannot be kept awake for this reason; remembers it, so that it is said once. */
export function isNewRefusal(why: string): boolean {
  const path = join(stateFolder(), 'no-wake-lock');
  try {
    if (readRegular(path, MAX_BYTES)?.toString('utf8') === why) return false;
    makeFolders(stateFolder(), PRIVATE_FOLDER);
    replaceFile(path, why, { mode: PRIVATE_FILE });
  } catch {
    // It is said again then.
  }
  return true;
}

const MAX_BYTES = 10_000;
