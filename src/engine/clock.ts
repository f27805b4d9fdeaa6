/** What time it is, and when it will be: the only source of both for the engine. */
export interface Clock {
  /** Milliseconds since the epoch; never less than it was. */
  now(): number;
  /** Wakes at a moment, or at once if that has passed; returns how to call it off. */
  at(moment: number, wake: () => void): () => void;
}

/**
 * The clock of this machine, which goes on when the system's is set back, follows it when it is set forward or the
 * machine has slept, and starts no earlier than `from`, so that a loop's time never runs backwards over a restart.
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
        // In stretches, so that a machine that has slept notices; the last one ends at the moment itself.
        timer = left <= 0 ? setTimeout(wake, 0) : setTimeout(arm, Math.min(left, LONGEST_STRETCH_MS));
      };
      const left = moment - now();
      timer = left <= 0 ? setTimeout(wake, 0) : setTimeout(arm, Math.min(left, LONGEST_STRETCH_MS));
      return () => clearTimeout(timer);
    },
  };
}

const LONGEST_STRETCH_MS = 30_000;
