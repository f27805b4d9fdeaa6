import { codeOf } from '../files/files.ts';

/** Whether a process group exists, also one of another user; throws for a number that no group has. */
export function isGroupAlive(pgid: number): boolean {
  if (!Number.isInteger(pgid) || pgid <= 0 || pgid > MAX_PID) throw new Error('pgid is invalid');
  // To the kernel -1 means every process; the first process has this group.
  if (pgid === 1) return true;
  try {
    process.kill(-pgid, 0);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EPERM') return true;
    if (codeOf(error) === 'ESRCH') return false;
    throw error;
  }
}

const MAX_PID = 2 ** 31 - 1;
