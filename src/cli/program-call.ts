import type { Command } from 'commander';

export type Done = (code: number) => void;

/** Adds a command to the program. */
export type Add = (name: string, description: string) => Command;

/** The arguments, as far as the definition of a command depends on them. */
export interface Call {
  /** What follows `--`. */
  readonly command: readonly string[];
  /** Whether this command is called. Only then it gets its long list of options: defining them takes time. */
  readonly isCalled: (name: string) => boolean;
  readonly done: Done;
}
