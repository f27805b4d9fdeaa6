/** The daemon's own files: `<state folder>/daemon`. */
import { join } from 'node:path';
import { livingOwner } from '../home/lock-owner.ts';
import { stateFolder } from '../home/state-folder.ts';

export function daemonFolder(): string {
  return join(stateFolder(), 'daemon');
}

export function daemonLock(): string {
  return join(daemonFolder(), 'lock');
}

export function daemonLog(): string {
  return join(daemonFolder(), 'daemon.log');
}

/** The pid of the daemon of this state folder; null if none runs. */
export function daemonPid(): number | null {
  return livingOwner(daemonLock());
}
