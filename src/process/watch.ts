import { statSync, watch, type FSWatcher } from 'node:fs';

const SAFETY_LOOK_MS = 1000;

/**
 * Calls back whenever something may have changed in a folder. The kernel's word is only a hint: some file systems say
 * nothing, and a folder that is removed and made anew is another one, so there is a look every second as well.
 */
export function watchFolder(path: string, look: () => void): () => void {
  let inode = inodeOf(path);
  let watcher = watchOrNull(path, look);
  const timer = setInterval(() => {
    const now = inodeOf(path);
    if (now !== inode || watcher === null) {
      watcher?.close();
      watcher = watchOrNull(path, look);
      inode = now;
    }
    look();
  }, SAFETY_LOOK_MS);
  return () => {
    clearInterval(timer);
    watcher?.close();
  };
}

function watchOrNull(path: string, look: () => void): FSWatcher | null {
  try {
    const watcher = watch(path, { persistent: false }, look);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return null;
  }
}

function inodeOf(path: string): number | null {
  try {
    return statSync(path).ino;
  } catch {
    return null;
  }
}
