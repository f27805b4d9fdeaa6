import type { LoopObserver } from '../owner/observer.ts';

/**
 * Lets the heap of this process grow slowly while agents run: a loop runs for hours and allocates little. So the young
 * generation need not grow, and the old one may grow by half before it is collected. Node.js would let it grow to four times its
 * size, which is garbage, and starting an agent takes longer with it.
 *
 * V8 does not use code that was compiled with other flags (`code-cache.ts`). So they are not set before the first agent has run for a
 * moment, when everything is loaded, and `end` sets them back before the code is kept.
 */
export function useLittleMemory(): LittleMemory {
  let timer: NodeJS.Timeout | null = null;
  let isSet = false;
  const begin = (): void => {
    isSet = true;
    setFlags(1, 50);
  };
  return {
    appended({ type }) {
      if (type === 'run.started') timer ??= setTimeout(begin, SHORT_RUN_MS).unref();
    },
    end() {
      if (timer !== null) clearTimeout(timer);
      if (isSet) setFlags(2, 0);
    },
  };
}

export interface LittleMemory extends Required<Pick<LoopObserver, 'appended'>> {
  readonly end: () => void;
}

/** A loop whose only agent answers at once has ended by then. */
const SHORT_RUN_MS = 20;

/** The defaults of V8 are 2, and 0 for as much as it likes. */
function setFlags(youngGrowthFactor: number, oldGrowthPercent: number): void {
  // Loaded here, because that takes milliseconds.
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  setFlagsFromString(`--semi-space-growth-factor=${youngGrowthFactor}`);
  setFlagsFromString(`--heap-growing-percent=${oldGrowthPercent}`);
}
