import { watchFolder } from '../process/watch.ts';
import { UserError } from '../user-error.ts';
import { daemonFolder, daemonLog, daemonPid } from './place.ts';

/** Lets the daemon leave its loops and end, and resolves when it has; to its pid, or to null if none runs. */
export async function stopDaemon(): Promise<number | null> {
  const pid = daemonPid();
  if (pid === null) return null;
  process.kill(pid, 'SIGTERM');
  if (!(await isGone(pid)))
    throw new UserError(`the daemon (process ${pid}) does not end; its log is ${daemonLog()}`, 3);
  return pid;
}

function isGone(pid: number): Promise<boolean> {
  return new Promise((resolve) => {
    const finish = (gone: boolean): void => {
      clearTimeout(timer);
      stopWatching();
      resolve(gone);
    };
    const timer = setTimeout(() => finish(false), STOP_MS);
    const look = (): void => {
      if (daemonPid() !== pid) finish(true);
    };
    const stopWatching = watchFolder(daemonFolder(), look);
    setImmediate(look);
  });
}

/** A daemon with many loops leaves one after the other. */
const STOP_MS = 30_000;
