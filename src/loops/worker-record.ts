import { preciseLocalTime } from '../text/times.ts';
import { endedStatus } from '../loop/outcome.ts';
import { openRun } from '../loop/run.ts';
import type { LoopReading } from '../store/read-loop.ts';
import { treeOf } from '../store/spec.ts';
import { tmuxPlaceOf } from '../store/tmux-place.ts';
import { summaryOf, type LoopSummary } from './summary.ts';

/** A loop as a worker of document 003, with the fields of our own summary that have other names. */
export interface WorkerRecord extends Omit<LoopSummary, 'status'> {
  readonly status: WorkerStatus;
  /** The command of the agent. */
  readonly cmd: readonly string[];
  /** A local time with microseconds. */
  readonly started: string | null;
  /** Where the agent works. */
  readonly cwd: string;
  readonly tags: readonly string[];
  /** The process of the agent; null if none runs. */
  readonly pid: number | null;
  /** The window; null if it has none now. */
  readonly tmux: {
    readonly session: string;
    readonly window: string;
    readonly socket: string;
  } | null;
  readonly worktree: {
    readonly path: string;
    readonly branch: string;
    readonly base_repo: string;
  } | null;
  readonly metadata: { readonly ralph: true; readonly ralph_iteration: number };
}

export const WORKER_STATUSES = ['running', 'paused', 'stopped', 'failed'] as const;
export type WorkerStatus = (typeof WORKER_STATUSES)[number];

export function workerRecord(loop: LoopReading): WorkerRecord {
  const { spec, state, report, owner } = loop;
  const { worktree } = spec;
  const receipt = owner === null ? null : (openRun(state)?.receipt ?? null);
  return {
    ...summaryOf(loop),
    status: workerStatus(loop),
    cmd: spec.agent.argv,
    started: report.startedAt === null ? null : preciseLocalTime(report.startedAt),
    cwd: treeOf(spec),
    tags: spec.tags ?? [],
    pid: receipt?.pid ?? null,
    tmux: windowOf(loop),
    worktree:
      worktree === undefined
        ? null
        : { path: worktree.path, branch: worktree.branch, base_repo: spec.workspace },
    metadata: { ralph: true, ralph_iteration: state.iteration },
  };
}

function windowOf({ spec, owner }: LoopReading): WorkerRecord['tmux'] {
  if (spec.window === undefined || owner === null) return null;
  const { session, socket } = tmuxPlaceOf(spec);
  return { session, window: spec.name, socket };
}

/** The status of a loop in the words of document 003. A loop whose owner has died has failed. */
export function workerStatus(loop: LoopReading): WorkerStatus {
  const { status } = summaryOf(loop);
  const { outcome } = loop.state;
  if (status === 'running' || status === 'paused') return status;
  // The next daemon or the session continues it.
  if (status === 'left' || status === 'in-session') return 'running';
  return outcome === null || status === 'unreadable' ? 'failed' : endedStatus(outcome);
}
