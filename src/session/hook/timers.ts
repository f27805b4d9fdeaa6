/** The time of a hook. */
export interface Timers {
  /** Milliseconds since some moment; never decreases. */
  now(): number;
  /** Calls a function later; returns a function that cancels it. */
  after(ms: number, call: () => void): () => void;
}

/** They keep a program running: a session that waits for its next prompt is not over. */
export const SYSTEM_TIMERS: Timers = {
  now: () => performance.now(),
  after(ms, call) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};

/** The result of a work, unless it takes too long: then throws an error that says so. */
export async function withTimeout<T>(
  work: Promise<T>,
  ms: number,
  timers: Timers = SYSTEM_TIMERS,
): Promise<T> {
  let cancel: (() => void) | undefined;
  const late = new Promise<never>((_, reject) => {
    cancel = timers.after(ms, () => reject(new Error(`timed out after ${ms / 1000} s`)));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    cancel?.();
  }
}
