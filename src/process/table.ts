/** What the operating system knows about processes: the port; `procfs.ts` and `ps.ts` are its adapters. */
export interface ProcessTable {
  /** When a process was born, so that its pid cannot be mistaken for another's; also of a zombie. */
  birth(pid: number): Birth | null;
  /** Whether it is still the same process, and not a zombie. */
  lives(birth: Birth): boolean;
  /** The live processes whose environment carries `marker` (`NAME=value`). */
  marked(marker: string): readonly number[];
  /** What is left of a run besides its shim: members of its group, and whoever carries its marker. */
  left(shim: Birth, marker: string): Sweep;
  /**
   * Live processes that were born after `since`, work in this folder or below it, have no terminal, and carry no
   * variable of this name: what may have got away. Empty where the system does not tell.
   */
  strays(folder: string, since: Birth, variable: string): readonly Stray[];
}

export interface Sweep {
  readonly pids: readonly number[];
  /** How many vanished while looking: any of those may have left a child that was not seen. */
  readonly vanished: number;
}

/** A process that nobody ended. */
export interface Stray {
  readonly pid: number;
  readonly command: string;
}

/** A pid alone is reused; with its start time, boot and namespace it is not. */
export interface Birth {
  readonly pid: number;
  readonly startTime: string;
  readonly bootId: string;
  readonly pidNamespace: string;
}
