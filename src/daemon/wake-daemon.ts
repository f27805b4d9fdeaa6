import type { OwnedLoop } from '../owner/owner.ts';
import { enlisted } from '../store/background.ts';

/** Starts a daemon if loops wait for one: the last one was ended or killed, or the machine was started again. */
export async function wakeDaemon(): Promise<void> {
  if (enlisted().length === 0) return;
  try {
    const { ensureDaemon } = await import('./ensure-daemon.ts');
    ensureDaemon();
  } catch {
    // A command that only reads must work without it; one that needs an owner reports why there is none.
  }
}

/** Does the same every few seconds, for a command that waits for a loop. Returns a function that ends it. */
export function keepDaemonAwake(): () => void {
  const timer = setInterval(() => void wakeDaemon(), WAKE_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Does it while a loop in the foreground has active children: a daemon that died must not leave them without an owner. */
export function keepAwakeForChildren(loop: Pick<OwnedLoop, 'observe'>): () => void {
  let stop: (() => void) | null = null;
  loop.observe({
    appended(_, { children }) {
      if (children.length > 0) stop ??= keepDaemonAwake();
      else stop = end(stop);
    },
  });
  return () => void end(stop);
}

function end(stop: (() => void) | null): null {
  stop?.();
  return null;
}

const WAKE_MS = 2000;
