/**
 * Lets the parts of this process take turns, so that a thousand loops that want to act at once do not stop it for seconds.
 *
 * 1. Turns are given in the order in which they were asked for. While nothing else wants one, it is given at once.
 * 2. All turns together take a few milliseconds of each round of the event loop, plus the time of one turn; then input,
 *    timers and signals are handled.
 * 3. A turn ends when what it has started waits for something else.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';

/** Resolves when it is the caller's turn. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    void give();
  });
}

const waiting: (() => void)[] = [];
let isGiving = false;
/** When the first turn of this round of the event loop began. */
let roundBegan: number | null = null;

async function give(): Promise<void> {
  if (isGiving) return;
  isGiving = true;
  while (waiting.length > 0 && isTimeLeft()) {
    waiting.shift()?.();
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await settled();
  }
  isGiving = false;
}

function isTimeLeft(): boolean {
  if (roundBegan === null) {
    roundBegan = performance.now();
    setImmediate(() => {
      roundBegan = null;
      void give();
    });
  }
  return performance.now() - roundBegan < ROUND_MS;
}

/** What all turns of a round take, and a slice of long work. */
const ROUND_MS = 4;

/** Resolves when everything has run that does not wait for the event loop: Node runs a tick after all microtasks. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    queueMicrotask(() => process.nextTick(resolve));
  });
}

/** Divides long work into slices, so that input, timers and signals are handled in between. */
export class TimeSlice {
  #began = performance.now();

  /** Yields to the event loop if this slice has lasted long enough. */
  async pause(): Promise<void> {
    if (performance.now() - this.#began < ROUND_MS) return;
    await yieldToEventLoop();
    this.#began = performance.now();
  }
}
