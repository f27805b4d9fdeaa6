import type { LoopObserver } from '../loops/loops.ts';

/**
 * Lets the heap of this process grow slowly while agents run: a loop runs for hours and allocates little. So the young
 * generation need not grow, and the old one may grow by half before it is collected. Node.js would let it grow to four times its
 * size, which is garbage, and starting an agent takes longer with it.
 */
export function littleMemory(): Required<Pick<LoopObserver, 'appended'>> {
  let timer: NodeJS.Timeout | null = null;
  return {
    appended({ type }) {
      if (type === 'run.started') timer ??= setTimeout(growSlowly, SHORT_RUN_MS).unref();
    },
  };
}

/** A loop whose only agent answers at once has ended by then. */
const SHORT_RUN_MS = 20;

/** From now on. */
export function growSlowly(): void {
  // Loaded here, because that takes milliseconds.
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--heap-growing-percent=50');
}
