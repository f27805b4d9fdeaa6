import type { WorkerRecord } from '../views/worker-record.ts';

/** The workers as the list of document 003 shows them, below its head. */
export function workerTable(workers: readonly ListedWorker[], now: number): readonly (readonly string[])[] {
  const rows = workers.map(({ name, status, pid, window, startedAt, worktree, tags }) => [
    name,
    status,
    window ?? (pid === null ? '-' : String(pid)),
    startedAt === null ? '-' : age(now - startedAt),
    worktree?.path ?? '-',
    tags.length === 0 ? '-' : tags.join(','),
  ]);
  return [['NAME', 'STATUS', 'PID/WINDOW', 'STARTED', 'WORKTREE', 'TAG'], ...rows];
}

export type ListedWorker = Pick<WorkerRecord, 'name' | 'status' | 'pid' | 'window' | 'worktree' | 'tags'> & {
  readonly startedAt: number | null;
};

/** The largest unit alone: `45s`, `15m`, `6h`, `3d`. */
function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}
