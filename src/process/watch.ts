import { statSync, watch, type FSWatcher } from 'node:fs';

const POLL_MS = 1000;

/**
 * Calls back whenever something may have changed in a folder, and returns a function that stops it. It also polls every
 * second: some file systems send no events, and a folder that was removed and recreated needs a new watcher.
 */
export function watchFolder(path: string, onChange: () => void): () => void {
  let inode = inodeOf(path);
  let watcher = watchOrNull(path, onChange);
  const timer = setInterval(() => {
    const currentInode = inodeOf(path);
    if (currentInode !== inode || watcher === null) {
      watcher?.close();
      watcher = watchOrNull(path, onChange);
      inode = currentInode;
    }
    onChange();
  }, POLL_MS);
  return () => {
    clearInterval(timer);
    watcher?.close();
  };
}

function watchOrNull(path: string, onChange: () => void): FSWatcher | null {
  try {
    const watcher = watch(path, { persistent: false }, onChange);
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
