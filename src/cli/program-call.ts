import type { Command } from 'commander';
import type { OptionRow, Settable } from './option-rows.ts';
import type { OptionTexts } from './program-options.ts';

export type Done = (code: number) => void;

/** Adds a command to the program. */
export type Add = (name: string, description: string) => Command;

/** The arguments, as far as the definition of a command depends on them. */
export interface Call {
  /** What follows `--`. */
  readonly command: readonly string[];
  /** Whether this command is called. Only then it gets its long list of options: defining them takes time. */
  readonly isCalled: (name: string) => boolean;
  /** The texts of these options; null for a call that prints no help. */
  readonly help: OptionHelp | null;
  readonly done: Done;
}

export interface OptionHelp {
  /** What the help of the command says about an option, with the default there; `path` names the setting that it sets. */
  readonly textsOf: (row: OptionRow, name: Settable, path?: string) => OptionTexts;
  /** Makes the help of the command its first page, unless all options are asked for. */
  readonly shorten: (command: Command, name: Settable, options: readonly ShownOption[]) => void;
}

export interface ShownOption {
  readonly row: OptionRow;
  /** The setting that it sets. */
  readonly path?: string;
}
