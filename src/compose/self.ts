import type { LockOwner } from '../control/owner.ts';
import { processes } from '../process/processes.ts';

/** Who we are, for others who want the lock. */
export function self(): LockOwner {
  return { pid: process.pid, since: processes.birth(process.pid)?.startTime ?? '' };
}
