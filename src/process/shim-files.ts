/** Reads the files that a shim writes into the folder of its run (`shim.ts`). */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readRegular } from '../files/files.ts';

/** The exit status that the shim wrote; null while there is none, and for a text that no shim writes. */
export function exitStatus(folder: string): number | null {
  const path = join(folder, 'exit');
  // Asked again and again while the agent runs, and checking is much cheaper than catching what `open` throws.
  const status = existsSync(path) ? readNumber(path) : null;
  return status !== null && status <= MAX_STATUS ? status : null;
}

/** A status is one byte. */
const MAX_STATUS = 255;

/** Whether a shim was ever started in this folder. */
export function hasStarted(folder: string): boolean {
  return existsSync(join(folder, 'started'));
}

/** The pid that the shim wrote; the owner may have died before it could record it. */
export function shimPid(folder: string): number | null {
  const pid = readNumber(join(folder, 'started'));
  return pid !== null && pid > 0 ? pid : null;
}

/** The number in a complete line; null for anything else, since every process can write the file. */
function readNumber(path: string): number | null {
  try {
    const text = readRegular(path, MAX_BYTES)?.toString('latin1') ?? '';
    return /^\d{1,10}\n$/.test(text) ? Number(text) : null;
  } catch {
    return null;
  }
}

const MAX_BYTES = 100;
