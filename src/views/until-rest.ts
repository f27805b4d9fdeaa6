import { existsSync } from 'node:fs';
import { watchFolder } from '../process/watch.ts';
import { isEnlisted } from '../store/background.ts';
import { liveOwner, readLoopAt, type LoopReading } from '../store/read-loop.ts';
import type { LoopFolder } from '../store/store.ts';

/**
 * Waits until a loop is not driven any more, neither by a process now nor by the next daemon; null if `timeout` aborts
 * first, or if the loop was removed.
 */
export function untilRest(folder: LoopFolder, timeout?: AbortSignal): Promise<LoopReading | null> {
  return new Promise((resolve) => {
    const finish = (loop: LoopReading | null): void => {
      stopWatching();
      timeout?.removeEventListener('abort', onTimeout);
      resolve(loop);
    };
    const onTimeout = (): void => finish(null);
    const look = (): void => {
      if (!existsSync(folder.path)) return finish(null);
      // The owner recreates a lock file that was removed.
      if (!existsSync(folder.lock) || liveOwner(folder) !== null) return;
      if (isEnlisted(folder.id)) return;
      finish(readLoopAt(folder));
    };
    timeout?.addEventListener('abort', onTimeout);
    const stopWatching = watchFolder(folder.path, look);
    if (timeout?.aborted === true) onTimeout();
    else setImmediate(look);
  });
}
