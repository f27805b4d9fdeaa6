/** The rows of a list, and what looks like a loop beside them and is none. */
import { existsSync } from 'node:fs';
import { foundAt } from '../files/files.ts';
import { endedStatus } from '../loop/outcome.ts';
import { openRun } from '../loop/run.ts';
import { masks } from '../store/mask.ts';
import { liveOwner, readLoopAt, type LoopReading } from '../store/read-loop.ts';
import { registered, registeredIn } from '../store/registry.ts';
import { treeOf } from '../store/spec.ts';
import { LoopFolder, type LoopKey } from '../store/store.ts';
import { describeStranger, strangersIn } from '../store/strangers.ts';
import { tmuxPlaceOf } from '../store/tmux-place.ts';
import { summaryOf, type LoopSummary } from './summary.ts';

/** Which loops are listed. */
export interface Filter {
  /** Null for the loops of all workspaces. */
  readonly workspace: string | null;
  /** Their status, or their status as a worker; null for all. */
  readonly status?: LoopSummary['status'] | WorkerStatus | null;
  readonly tag?: string | null;
}

/** A loop in a list. */
export interface LoopRow extends LoopSummary {
  readonly worker: Worker;
}

/** The loop as a worker of document 003. */
interface Worker {
  readonly status: WorkerStatus;
  /** The command of the agent. */
  readonly cmd: readonly string[];
  readonly startedAt: number | null;
  /** Where the agent works. */
  readonly cwd: string;
  /** The process of the agent; null if none runs. */
  readonly pid: number | null;
  /** The window; null if it has none now. */
  readonly tmux: { readonly session: string; readonly window: string; readonly socket: string } | null;
  readonly worktree: { readonly path: string; readonly branch: string } | null;
  readonly iteration: number;
  readonly failures: number;
}

export const WORKER_STATUSES = ['running', 'paused', 'stopped', 'failed'] as const;
export type WorkerStatus = (typeof WORKER_STATUSES)[number];

/** The loops that a filter can be about. */
export function keysFor({ workspace }: Filter): readonly LoopKey[] {
  return workspace === null ? registered() : registeredIn(workspace);
}

/** The rows of those of the loops that the filter wants, without secrets. */
export function rowsOf(keys: readonly LoopKey[], { status = null, tag = null }: Filter): readonly LoopRow[] {
  const mask = masks();
  return keys.flatMap((key) => {
    const loop = readings.of(new LoopFolder(key));
    if (loop === null || (tag !== null && loop.spec.tags?.includes(tag) !== true)) return [];
    const row = rowOf(loop);
    const isWanted = status === null || row.status === status || row.worker.status === status;
    return isWanted ? [mask(loop.spec).value(row)] : [];
  });
}

/**
 * What was read of loops before, for a process that asks for them again and again. It counts while no file has changed that it was
 * made from, and while the loop has the same owner.
 */
class Readings {
  readonly #known = new Map<string, { readonly stamp: string; readonly loop: LoopReading | null }>();

  of(folder: LoopFolder): LoopReading | null {
    const { path } = folder;
    const owner = liveOwner(folder);
    const files = [path, folder.journal, folder.spec].map(foundAt);
    const stamp = [
      owner,
      ...files.map((one) => one && `${one.ino} ${one.size} ${one.mtimeMs} ${one.ctimeMs}`),
    ].join();
    const known = this.#known.get(path);
    if (known?.stamp === stamp) return known.loop;
    const loop = readLoopAt(folder);
    // The time of a file that was just changed may be that of its next change, too.
    const isSettled = files.every((one) => one !== null && Date.now() - one.ctimeMs > SETTLED_MS);
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    if (isSettled && loop?.owner === owner) this.#known.set(path, { stamp, loop });
    else this.#known.delete(path);
    return loop;
  }
}

export const readings: Readings = new Readings();
/** File systems count the time of a change in steps of up to two seconds. */
const SETTLED_MS = 2000;
const MOST_KNOWN = 10_000;

export function rowOf(loop: LoopReading): LoopRow {
  const summary = summaryOf(loop);
  const { spec, state, report, owner } = loop;
  const { worktree } = spec;
  return {
    ...summary,
    worker: {
      status: workerStatus(summary, loop),
      cmd: spec.agent.argv,
      startedAt: report.startedAt,
      cwd: treeOf(spec),
      pid: owner === null ? null : (openRun(state)?.receipt?.pid ?? null),
      tmux: windowOf(loop),
      worktree: worktree === undefined ? null : { path: worktree.path, branch: worktree.branch },
      iteration: state.iteration,
      failures: state.failures.total,
    },
  };
}

function windowOf({ spec, owner }: LoopReading): Worker['tmux'] {
  if (spec.window === undefined || owner === null) return null;
  const { session, socket } = tmuxPlaceOf(spec);
  return { session, window: spec.name, socket };
}

/** In the words of document 003. A loop whose owner has died has failed. */
function workerStatus({ status }: LoopSummary, { state: { outcome } }: LoopReading): WorkerStatus {
  if (status === 'running' || status === 'paused') return status;
  // The next daemon or the session continues it.
  if (status === 'left' || status === 'in-session') return 'running';
  return outcome === null || status === 'unreadable' ? 'failed' : endedStatus(outcome);
}

/** What has been left by loops, or looks like one. */
export interface Strays {
  /** The names of loops whose workspace does not exist any more; looked for only in all workspaces. */
  readonly gone: readonly string[];
  /** What looks like a loop of the workspace and is none. */
  readonly strangers: readonly {
    readonly name: string;
    /** Where the workspace seems to have been before it was moved; null for any other stranger. */
    readonly movedFrom: string | null;
    readonly why: string;
  }[];
}

export function straysIn(workspace: string | null): Strays {
  if (workspace !== null) {
    const strangers = strangersIn(workspace).map((one) => {
      const { name, movedFrom } = one;
      return { name, movedFrom, why: describeStranger(one) };
    });
    return { gone: [], strangers };
  }
  const known = new Map<string, boolean>();
  const isGone = (folder: string): boolean => {
    const found = known.get(folder) ?? !existsSync(folder);
    known.set(folder, found);
    return found;
  };
  const gone = registered().filter(
    (key) => isGone(key.workspace) && readLoopAt(new LoopFolder(key)) !== null,
  );
  return { gone: gone.map(({ name }) => name), strangers: [] };
}
