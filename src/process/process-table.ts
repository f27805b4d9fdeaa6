/**
 * What the operating system knows about processes: the port. `procfs.ts` and `ps.ts` are its adapters.
 *
 * 1. A question about one process is answered at once. A question about all of them is answered by a scan that began after it
 *    was asked; questions that wait at the same time share one scan (`shared-scan.ts`).
 * 2. A scan yields to the event loop: one process may own a thousand loops.
 */
import type { Receipt, StrayProcess } from '../loop/receipt.ts';

export interface ProcessTable {
  /** Identifies a process beyond its pid, which may be reused; also a zombie. Null if there is no such process. */
  birth(pid: number): Birth | null;
  /** Whether the same process still exists and is not a zombie. */
  lives(birth: Birth): boolean;
  /** Whether a process has the marker in its environment; null where that cannot be seen. */
  carries(pid: number, marker: Marker): boolean | null;
  /** Which of these processes exist and are not zombies. */
  alive(pids: readonly number[]): readonly number[];
  /** A live process with the marker in its environment, or null. Blocks while it looks: for a command that asks once. */
  firstMarked(marker: Marker): number | null;
  /** Live processes with the marker in their environment. */
  marked(marker: Marker): Promise<readonly number[]>;
  /** Live processes with a marker whose value starts with this one. */
  markedByPrefix(marker: Marker): Promise<readonly number[]>;
  /** Finds what is left of a run except its shim: its process group, processes with its marker, and strays. */
  left(run: SweptRun): Promise<Sweep>;
  /** The parent of a process, its parent and so on, the nearest first. */
  ancestors(pid: number): readonly Ancestor[];
}

/** A process above another one, as far as this user can look into it. */
export interface Ancestor {
  readonly pid: number;
  /** The folder of a run and perhaps more arguments of its shim, joined by blanks. Null if the process is no shim. */
  readonly shim: string | null;
  /** The value of a variable in its environment; null if it has none or belongs to another user. */
  variable(name: string): string | null;
}

/** The name of a shim: `$0` of its script. */
export const SHIM_NAME = 'ralph-shim';

/** More ancestors than any real process has; ends the walk also if pids are reused on the way. */
export const MAX_ANCESTORS = 1000;

export interface SweptRun {
  readonly shim: Birth;
  readonly marker: Marker;
  /** Its working directory. */
  readonly folder: string;
  /** The file that identifies its PID namespace (`sandboxed.ts`); a run without a sandbox has none. */
  readonly namespaceFile?: string;
  /** Process groups that stay with everything below them, except what is in the shim's group or the run's namespace. */
  readonly spared?: readonly number[] | undefined;
}

/** An environment variable that every process of a run inherits. */
export interface Marker {
  readonly name: string;
  readonly value: string;
}

export interface Sweep {
  readonly pids: readonly number[];
  /** How many processes exited during the sweep: each may have left a child that the sweep missed. */
  readonly vanished: number;
  /**
   * Live processes that may have escaped the run: started after the shim, with a working directory in the folder, without
   * a parent, a terminal or the marker of any run. Empty where the system does not provide this.
   */
  readonly strays: readonly StrayProcess[];
}

/** Identifies a process: a pid alone may be reused, but not together with start time, boot and namespace. */
export type Birth = Receipt;

/** The birth of a process of which only the pid is known; it never counts as alive. */
export function unknownBirth(pid: number): Birth {
  return { pid, startTime: '', bootId: '', pidNamespace: '' };
}
