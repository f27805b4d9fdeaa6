import { watchUntil } from '../process/watch.ts';
import { killOwner } from '../store/kill-owner.ts';
import { UserError } from '../user-error.ts';
import { daemonFolder, daemonLock, daemonLog, daemonPid } from './place.ts';

/**
 * Lets the daemon leave its loops and end, and resolves when it has; to its pid, or to null if none runs. With `now` it is
 * killed, so that it need not respond.
 */
export async function stopDaemon(now: boolean): Promise<number | null> {
  const pid = daemonPid();
  if (pid === null) return null;
  if (now) {
    await killOwner(daemonLock(), pid);
    return pid;
  }
  process.kill(pid, 'SIGTERM');
  const isGone = (): true | null => (daemonPid() === pid ? null : true);
  if ((await watchUntil(daemonFolder(), isGone, AbortSignal.timeout(STOP_MS))) === null)
    throw new UserError(
      `the daemon (process ${pid}) does not end; its log is ${daemonLog()}; kill it with: ralph daemon stop --now`,
      3,
    );
  return pid;
}

/** A daemon with many loops leaves one after the other. */
const STOP_MS = 30_000;
