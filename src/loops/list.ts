/** The rows of a list, and what looks like a loop beside them and is none. */
import { existsSync, type Stats } from 'node:fs';
import { foundAt } from '../files/files.ts';
import { endedStatus } from '../loop/outcome.ts';
import { openRun } from '../loop/run.ts';
import { isEnlisted } from '../home/background.ts';
import { workspaceAt } from '../home/find-workspace.ts';
import { masks } from '../home/mask.ts';
import { liveOwner, readLoopAt, type LoopReading } from '../home/read-loop.ts';
import { registered, registeredIn } from '../home/registry.ts';
import { treeOf } from '../home/spec.ts';
import { LoopFolder, type LoopKey } from '../home/home.ts';
import { describeStranger, strangersIn } from '../home/strangers.ts';
import { tmuxPlaceOf } from '../home/tmux-place.ts';
import { aboutOf, type About } from './about.ts';
import { summaryOf, type LoopSummary } from './summary.ts';

/** Which loops are listed. */
export interface Filter {
  /** The loops of the nearest workspace count, in this folder or above it, a real path; null for those of all workspaces. */
  readonly workspace: string | null;
  /** Their status, or their status as a worker; null for all. */
  readonly status?: LoopSummary['status'] | WorkerStatus | null;
  readonly tag?: string | null;
  /** Only loops that the caller can wait for: a process drives them, or the next daemon will. */
  readonly waitable?: boolean;
}

/** A loop in a list. */
export interface LoopRow extends LoopSummary {
  readonly about: About;
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
  return workspace === null ? registered() : registeredIn(workspaceAt(workspace));
}

/** The rows of those of the loops that the filter wants, without secrets. */
export function rowsOf(
  keys: readonly LoopKey[],
  { status = null, tag = null, waitable = false }: Filter,
): readonly LoopRow[] {
  const mask = masks();
  return keys.flatMap((key) => {
    const loop = readings.of(new LoopFolder(key));
    if (loop === null || (tag !== null && loop.spec.tags?.includes(tag) !== true)) return [];
    if (waitable && loop.owner === null && !isEnlisted(key.id)) return [];
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
    const files = filesOf(folder).map(foundAt);
    const stamp = `${owner} ${stampOf(files)}`;
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

/** What a loop is read from. */
function filesOf({ path, journal, spec }: LoopFolder): readonly string[] {
  return [path, journal, spec];
}

/** What is compared to see whether a loop has changed. */
export function stampOfLoop(folder: LoopFolder): string {
  return `${liveOwner(folder)} ${stampOf(filesOf(folder).map(foundAt))}`;
}

/** The same of files. */
export function stampOf(files: readonly (Stats | null)[]): string {
  return files.map((one) => one && `${one.ino} ${one.size} ${one.mtimeMs} ${one.ctimeMs}`).join();
}

export const readings: Readings = new Readings();
/** File systems count the time of a change in steps of up to two seconds. */
const SETTLED_MS = 2000;
const MOST_KNOWN = 10_000;

function rowOf(loop: LoopReading): LoopRow {
  const summary = summaryOf(loop);
  const { spec, state, report, owner } = loop;
  const { worktree } = spec;
  return {
    ...summary,
    about: aboutOf(loop),
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
export function workerStatus(
  { status }: Pick<LoopSummary, 'status'>,
  { state: { outcome } }: Pick<LoopReading, 'state'>,
): WorkerStatus {
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

export function straysIn(folder: string | null): Strays {
  if (folder !== null) {
    const strangers = strangersIn(workspaceAt(folder)).map((one) => {
      const { name, movedFrom } = one;
      return { name, movedFrom, why: describeStranger(one) };
    });
    return { gone: [], strangers };
  }
  const known = new Map<string, boolean>();
  const isGone = (workspace: string): boolean => {
    const found = known.get(workspace) ?? !existsSync(workspace);
    known.set(workspace, found);
    return found;
  };
  const gone = registered().filter(
    (key) => isGone(key.workspace) && readLoopAt(new LoopFolder(key)) !== null,
  );
  return { gone: gone.map(({ name }) => name), strangers: [] };
}
