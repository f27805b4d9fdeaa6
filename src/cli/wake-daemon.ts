import { enlisted } from '../store/background.ts';

/** Starts a daemon if loops wait for one: the last one was ended or killed, or the machine was started again. */
export async function wakeDaemon(): Promise<void> {
  if (enlisted().length === 0) return;
  const { ensureDaemon } = await import('../daemon/ensure-daemon.ts');
  try {
    ensureDaemon();
  } catch {
    // A command that only reads must work without it; one that needs an owner reports why there is none.
  }
}
