import { existsSync } from 'node:fs';
import { watchUntil } from '../process/watch.ts';
import { isDriven, readLoopAt, type LoopReading } from '../home/read-loop.ts';
import { isInSession } from '../home/spec.ts';
import type { LoopFolder } from '../home/home.ts';

/**
 * Waits until a loop is not driven any more, neither by a process now nor by the next daemon or its session; null if `timeout`
 * aborts first, or if the loop was removed.
 */
export async function untilRest(folder: LoopFolder, timeout?: AbortSignal): Promise<LoopReading | null> {
  const look = (): LoopReading | 'removed' | null => {
    if (!existsSync(folder.path)) return 'removed';
    if (isDriven(folder)) return null;
    const loop = readLoopAt(folder);
    return loop !== null && isLeftToSession(loop) ? null : (loop ?? 'removed');
  };
  const found = await watchUntil(folder.path, look, timeout);
  return found === 'removed' ? null : found;
}

function isLeftToSession({ spec, state }: LoopReading): boolean {
  return isInSession(spec) && state.outcome === null && !state.control.paused;
}
