/**
 * Lets the heap of this process grow slowly, once it has run for a while: a loop runs for hours and allocates little. So the young
 * generation need not grow, and the old one may grow by half before it is collected. Node.js would let it grow to four times its
 * size, which is garbage, and starting an agent takes longer with it. Returns a function that ends this.
 *
 * V8 does not use code that was compiled with other flags (`code-cache.ts`). So they are not set while a command starts, and they
 * are set back before the code is kept.
 */
export function useLittleMemory(): () => void {
  let isSet = false;
  const timer = setTimeout(() => {
    isSet = true;
    setFlags(1, 50);
  }, START_UP_MS);
  timer.unref();
  return () => {
    clearTimeout(timer);
    if (isSet) setFlags(2, 0);
  };
}

const START_UP_MS = 1000;

/** The defaults of V8 are 2, and 0 for as much as it likes. */
function setFlags(youngGrowthFactor: number, oldGrowthPercent: number): void {
  // Loaded here, because that takes milliseconds.
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  setFlagsFromString(`--semi-space-growth-factor=${youngGrowthFactor}`);
  setFlagsFromString(`--heap-growing-percent=${oldGrowthPercent}`);
}
