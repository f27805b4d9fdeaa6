import { lstatSync } from 'node:fs';

/** The stamp of several regular files together; null if one of them is missing, is something else or cannot be looked at. */
export function stampOf(paths: readonly string[]): Stamp | null {
  let text = '';
  let changedAt = 0;
  try {
    for (const path of paths) {
      const found = lstatSync(path, { throwIfNoEntry: false });
      if (found?.isFile() !== true) return null;
      const { ino, size, mtimeMs, ctimeMs } = found;
      text += `${ino} ${size} ${mtimeMs} ${ctimeMs};`;
      changedAt = Math.max(changedAt, mtimeMs, ctimeMs);
    }
  } catch {
    return null;
  }
  return { text, changedAt };
}

/** What is different after any change of a file, even if the change keeps its size and its time. */
export interface Stamp {
  readonly text: string;
  /** The last change, in milliseconds. */
  readonly changedAt: number;
}

/** Whether a change after this moment would have given the files another stamp: times are only as fine as the file system's. */
export function isSettled({ changedAt }: Stamp, now: number): boolean {
  return changedAt < now - (changedAt % 1000 === 0 ? COARSE_MS : FINE_MS);
}

/** Times in whole seconds, on file systems that have no finer ones. */
const COARSE_MS = 2500;
/** Several ticks of any kernel's clock. */
const FINE_MS = 100;
