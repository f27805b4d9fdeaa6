import { setImmediate as yieldToEventLoop } from 'node:timers/promises';

/** Divides long work into slices, so that input, timers and signals are handled in between. */
export class TimeSlice {
  #began = performance.now();

  /** Yields to the event loop if this slice has lasted long enough. */
  async pause(): Promise<void> {
    if (performance.now() - this.#began < SLICE_MS) return;
    await yieldToEventLoop();
    this.#began = performance.now();
  }
}

const SLICE_MS = 4;
