/** What the operating system knows about processes: the port; `procfs.ts` and `ps.ts` are its adapters. */
export interface ProcessTable {
  /** When a process was born, so that its pid cannot be mistaken for another's; also of a zombie. */
  birth(pid: number): Birth | null;
  /** Whether it is still the same process, and not a zombie. */
  lives(birth: Birth): boolean;
  /** The live processes whose environment carries a marker. */
  marked(marker: Marker): readonly number[];
  /** The same by the beginning of the marker's value. */
  markedWith(marker: Marker): readonly number[];
  /** What is left of a run besides its shim: members of its group, whoever carries its marker, and what got away. */
  left(run: SweptRun): Sweep;
}

export interface SweptRun {
  readonly shim: Birth;
  readonly marker: Marker;
  /** Where it works. */
  readonly folder: string;
}

/** A variable in the environment of everything that a run starts. */
export interface Marker {
  readonly name: string;
  readonly value: string;
}

export interface Sweep {
  readonly pids: readonly number[];
  /** How many vanished while looking: any of those may have left a child that was not seen. */
  readonly vanished: number;
  /**
   * Live processes that were born after the shim, work in the folder or below it, have neither parent nor terminal, and
   * carry no marker of any run: what may have got away. Empty where the system does not tell.
   */
  readonly strays: readonly Stray[];
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
