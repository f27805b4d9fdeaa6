/** The time and the chance of this machine. */
import { randomUUID } from 'node:crypto';

/** The engine's only source of time and timers. */
export interface Clock {
  /** Milliseconds since the epoch; never decreases. */
  now(): number;
  /** Calls `wake` at a moment, or at once if it has passed; returns a function that cancels it. */
  at(moment: number, wake: () => void): () => void;
}

/**
 * The clock of this machine. It keeps running when the system clock is set back, follows it when it is set forward or the
 * machine has slept, and starts no earlier than `from`, so that a loop's time never runs backwards after a restart.
 */
export function systemClock(from: number, wall: () => number = Date.now): Clock {
  let anchor = Math.max(from, wall());
  let since = performance.now();
  const now = (): number => {
    const elapsed = anchor + (performance.now() - since);
    const moment = Math.max(elapsed, wall());
    if (moment > elapsed) {
      anchor = moment;
      since = performance.now();
    }
    return Math.floor(moment);
  };
  return {
    now,
    at(moment, wake) {
      let timer: NodeJS.Timeout;
      const arm = (): void => {
        const left = moment - now();
        // Timers stop while the machine sleeps, so a long wait is split into short ones.
        timer = left <= 0 ? setTimeout(wake, 0) : setTimeout(arm, Math.min(left, MAX_TIMER_MS));
      };
      const left = moment - now();
      timer = left <= 0 ? setTimeout(wake, 0) : setTimeout(arm, Math.min(left, MAX_TIMER_MS));
      return () => clearTimeout(timer);
    },
  };
}

const MAX_TIMER_MS = 30_000;

/** A random number from 0 to 1, for the jitter of waits. */
export function chance(): number {
  return Number.parseInt(randomUUID().slice(0, 8), 16) / 2 ** 32;
}
