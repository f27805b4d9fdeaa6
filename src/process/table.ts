/** What the operating system knows about processes: the port; `procfs.ts` and `ps.ts` are its adapters. */
export interface ProcessTable {
  /** The live members of a process group; zombies count as gone. */
  members(group: number): readonly number[];
  /**
   * The live processes whose environment carries `marker` (`NAME=value`), and how many vanished while looking: any
   * of those may have left a child that was not seen. Processes from before `since` need not be read.
   */
  marked(
    marker: string,
    since: Birth | null,
  ): { readonly pids: readonly number[]; readonly vanished: number };
  /** When a process was born, so that its pid cannot be mistaken for another's; null when it is gone. */
  birth(pid: number): Birth | null;
  /** Live processes that were born after `since` and work in this folder or below it. */
  workingIn(folder: string, since: Birth): readonly { readonly pid: number; readonly command: string }[];
}

/** A pid alone is reused; with its start time, boot and namespace it is not. */
export interface Birth {
  readonly pid: number;
  readonly startTime: string;
  readonly bootId: string;
  readonly pidNamespace: string;
}
