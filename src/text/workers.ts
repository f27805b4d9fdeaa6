/** Loops as the workers of document 003: their records, and the lists of them. */
import { ofLimit } from '../loop/counted.ts';
import type { LoopRow } from '../loops/list.ts';
import type { LoopSummary } from '../loops/summary.ts';
import { preciseLocalTime } from './times.ts';

/** A loop as a worker, with the fields of our own summary that have other names. */
interface WorkerRecord extends Omit<LoopSummary, 'status'> {
  readonly status: LoopRow['worker']['status'];
  readonly cmd: readonly string[];
  /** A local time with microseconds. */
  readonly started: string | null;
  readonly cwd: string;
  readonly tags: readonly string[];
  readonly pid: number | null;
  readonly tmux: LoopRow['worker']['tmux'];
  readonly worktree: {
    readonly path: string;
    readonly branch: string;
    readonly base_repo: string;
  } | null;
  readonly metadata: { readonly ralph: true; readonly ralph_iteration: number };
}

export function workerRecord({ worker, about: _about, ...summary }: LoopRow): WorkerRecord {
  const { status, cmd, startedAt, cwd, pid, tmux, worktree, iteration } = worker;
  return {
    ...summary,
    status,
    cmd,
    started: startedAt === null ? null : preciseLocalTime(startedAt),
    cwd,
    tags: summary.tags ?? [],
    pid,
    tmux,
    worktree: worktree === null ? null : { ...worktree, base_repo: summary.workspace },
    metadata: { ralph: true, ralph_iteration: iteration },
  };
}

/** The workers as the list of document 003 shows them, below its head. */
export function workerTable(rows: readonly LoopRow[], now: number): readonly (readonly string[])[] {
  const lines = rows.map(({ name, window, tags = [], worker: { status, pid, startedAt, worktree } }) => [
    name,
    status,
    window ?? (pid === null ? '-' : String(pid)),
    startedAt === null ? '-' : age(now - startedAt),
    worktree?.path ?? '-',
    tags.length === 0 ? '-' : tags.join(','),
  ]);
  return [['NAME', 'STATUS', 'PID/WINDOW', 'STARTED', 'WORKTREE', 'TAG'], ...lines];
}

/** The largest unit alone: `45s`, `15m`, `6h`, `3d`. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

/** The list of `ralph ralph list`, below its head. */
export function ralphTable(rows: readonly LoopRow[]): readonly (readonly string[])[] {
  const lines = rows.map(({ name, iterations, iterationLimit, worker: { status, pid, failures } }) => [
    name,
    status,
    pid === null ? 'stopped' : 'running',
    ofLimit(iterations, iterationLimit),
    String(failures),
  ]);
  return [['NAME', 'RALPH_STATUS', 'WORKER_STATUS', 'ITERATION', 'FAILURES'], ...lines];
}
