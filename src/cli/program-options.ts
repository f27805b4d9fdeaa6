/** The options of the commands that start a loop or show its settings, in the groups and the order of their help. */
import { Option, type Command } from 'commander';
import { type Group, GROUPS, valuesIn } from '../settings/rows.ts';
import { longOf } from './options.ts';
import { type OptionRow, SECTIONS, type Settable } from './option-rows.ts';
import type { OptionHelp, ShownOption } from './program-call.ts';

/** Adds the options of a command; without `help` they have no texts, which takes less time. */
export function addOptions(command: Command, name: Settable, help: OptionHelp | null): Command {
  const shown: ShownOption[] = [];
  for (const { heading, own = [], group } of SECTIONS[name]) {
    command.optionsGroup(heading);
    const options = [...own.map((row): ShownOption => ({ row })), ...settingsIn(group, name)];
    for (const { row, path } of options) addOption(command, row, help?.textsOf(row, name, path));
    shown.push(...options);
  }
  command.helpOption('-h, --help', 'print this help');
  help?.shorten(command, name, shown);
  return command;
}

/** The settings of a group for which the command has an option. */
function settingsIn(group: Group | undefined, name: Settable): readonly ShownOption[] {
  const asked = name === 'config' ? 'run' : name;
  return [...valuesIn(group === undefined ? {} : GROUPS[group])].flatMap(([path, row]) => {
    const { flag, only } = row;
    if (flag === undefined || only?.some((one) => one === asked) === false) return [];
    return [{ path, row: { ...row, flag } }];
  });
}

function addOption(command: Command, row: OptionRow, texts: OptionTexts = { on: '', off: '' }): void {
  if (row.list === undefined) command.option(row.flag, texts.on);
  else command.option(...repeatable(row.flag, texts.on));
  if (row.off !== undefined) command.option(longOf(row.flag).replace('--', '--no-'), texts.off);
  if (row.secondFlag !== undefined) command.addOption(new Option(row.secondFlag).hideHelp());
}

/** What the help says about an option, and about the one that switches it off. */
export interface OptionTexts {
  readonly on: string;
  readonly off: string;
}

export const WORKSPACE = ['--cwd <folder>', 'workspace folder (default: the current folder)'] as const;

/** The arguments of an option that may be given several times. It has no default value: the help would print `[]`. */
export function repeatable(
  flags: string,
  description: string,
): [string, string, (value: string, before?: readonly string[]) => readonly string[]] {
  return [flags, description, (value, before = []) => [...before, value]];
}
