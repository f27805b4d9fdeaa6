import { existsSync } from 'node:fs';
import { watchUntil } from '../process/watch.ts';
import { isDriven, readLoopAt, type LoopReading } from '../store/read-loop.ts';
import type { LoopFolder } from '../store/store.ts';

/**
 * Waits until a loop is not driven any more, neither by a process now nor by the next daemon; null if `timeout` aborts
 * first, or if the loop was removed.
 */
export async function untilRest(folder: LoopFolder, timeout?: AbortSignal): Promise<LoopReading | null> {
  const look = (): LoopReading | 'removed' | null => {
    if (!existsSync(folder.path)) return 'removed';
    return isDriven(folder) ? null : (readLoopAt(folder) ?? 'removed');
  };
  const found = await watchUntil(folder.path, look, timeout);
  return found === 'removed' ? null : found;
}
