/**
 * `ralph complete`: what can come next on a command line, for the scripts of `ralph completion`.
 *
 * The first line says what completes the word: `words`, the lines below it, each with a tab and a description, or the `files` or
 * `folders` that the shell knows. Nothing is ever said about a line that makes no sense.
 */
import type { Argument, Command, Option } from 'commander';
import { KNOWN_AGENTS } from '../loops/machine.ts';
import { choicesOf, VALUES } from '../settings/rows.ts';
import { visible } from '../text/one-line.ts';
import { SET_KEYS } from '../settings/set-limits.ts';
import { hall } from './hall.ts';
import { longOf } from './options.ts';
import { pageNames } from './pages.ts';
import { printAsIs } from './print.ts';
import { workspaceOf } from './workspace.ts';

/** Prints what the last of these words can be, in the command that the others are. */
export async function complete(words: readonly string[], program: Command): Promise<number> {
  const { kind, words: found = [] } = await completionsOf(words, program).catch(() => NOTHING);
  printAsIs(`${kind}\n`);
  for (const { value, what } of found) printAsIs(`${value}\t${visible(what)}\n`);
  return 0;
}

interface Completions {
  readonly kind: 'words' | 'files' | 'folders';
  readonly words?: readonly Word[];
}

interface Word {
  readonly value: string;
  readonly what: string;
}

const NOTHING: Completions = { kind: 'words' };

async function completionsOf(words: readonly string[], program: Command): Promise<Completions> {
  // bash cuts `--agent=cl` at the sign.
  const line = words.filter((word, at) => word !== '=' || at === words.length - 1);
  const typed = line.at(-1) === '=' ? '' : (line.at(-1) ?? '');
  if (line.length === 2 && line[0] === 'help')
    return fitting([...commandsOf(program), ...named(pageNames())], typed);
  const place = placeAfter(line.slice(0, -1), program);
  if (place === null) return { kind: 'files' };
  const { command, option, argument, folder } = place;
  if (option !== null) return valuesOf(option, typed, folder);
  const [, flag = null] = /^(--[^=]+)=/.exec(typed) ?? [];
  const given = flag === null ? undefined : optionOf(command, flag);
  if (given !== undefined) {
    const values = await valuesOf(given, typed.slice(`${flag}=`.length), folder);
    const prefixed = values.words?.map(({ value, what }) => ({ value: `${flag}=${value}`, what }));
    return prefixed === undefined ? values : { ...values, words: prefixed };
  }
  if (typed.startsWith('-')) return fitting(flagsOf(command), typed);
  if (command.commands.length > 0) return fitting(commandsOf(command), typed);
  return argument === null ? NOTHING : argumentsFor(argument, typed, folder);
}

interface Place {
  readonly command: Command;
  /** The option whose value comes next. */
  readonly option: Option | null;
  /** The argument that comes next; null after the last one. */
  readonly argument: Argument | null;
  /** The folder that `--cwd` names. */
  readonly folder: string | undefined;
}

/** Where the parser is after these words; null within the command of an agent, behind `--`. */
function placeAfter(words: readonly string[], program: Command): Place | null {
  const [first] = words;
  const isRun = first !== undefined && first.startsWith('-');
  let command = (isRun ? commandNamed(program, 'run') : undefined) ?? program;
  let option: Option | null = null;
  let taken = 0;
  let folder: string | undefined;
  for (const word of words) {
    if (option !== null) {
      if (option.long === '--cwd') folder = word;
      option = null;
    } else if (word === '--') return null;
    else if (word.startsWith('-')) {
      const [, inline] = /^--cwd=(.*)$/.exec(word) ?? [];
      folder = inline ?? folder;
      const found = word.includes('=') ? undefined : optionOf(command, word);
      option = found?.required === true ? found : null;
    } else {
      const next = taken === 0 ? commandNamed(command, word) : undefined;
      if (next === undefined) taken++;
      command = next ?? command;
    }
  }
  const { registeredArguments: all } = command;
  const last = all.at(-1);
  return { command, option, argument: all[taken] ?? (last?.variadic === true ? last : null), folder };
}

function commandNamed(command: Command, name: string): Command | undefined {
  return command.commands.find((one) => one.name() === name || one.aliases().includes(name));
}

function optionOf(command: Command, flag: string): Option | undefined {
  return command.options.find(({ short, long }) => short === flag || long === flag);
}

function flagsOf(command: Command): readonly Word[] {
  const { options } = command;
  const flags = options.flatMap(({ long, short, hidden, description }) =>
    hidden ? [] : [{ value: long ?? short ?? '', what: description }],
  );
  return [...flags, { value: '--help', what: 'print the help' }];
}

function commandsOf(command: Command): readonly Word[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((one) => ({ value: one.name(), what: one.description() }));
}

/** What completes the value of an option, by its choices, or by what its help calls the value. */
function valuesOf({ long, flags, argChoices }: Option, typed: string, folder?: string): Promise<Completions> {
  const [, kind = ''] = /<([^>]+)>/.exec(flags) ?? [];
  if (argChoices !== undefined) return Promise.resolve(fitting(named(argChoices), typed));
  if (kind === 'file') return Promise.resolve({ kind: 'files' });
  if (kind === 'folder') return Promise.resolve({ kind: 'folders' });
  if (long === '--agent') return Promise.resolve(fitting(agents(), typed));
  const choices = CHOICES_OF.get(long ?? '');
  if (choices !== undefined) return Promise.resolve(fitting(named(choices), typed));
  if (long === '--loop') return loopsFor(typed, folder);
  return Promise.resolve(NOTHING);
}

/** The values of the options of settings that have only some. */
const CHOICES_OF: ReadonlyMap<string, readonly string[]> = new Map(
  [...VALUES.values()].flatMap(({ flag, type }) => {
    const choices = choicesOf(type);
    return flag === undefined || choices === undefined ? [] : [[longOf(flag), choices] as const];
  }),
);

async function argumentsFor(argument: Argument, typed: string, folder?: string): Promise<Completions> {
  const name = argument.name();
  if (argument.argChoices !== undefined) return fitting(named(argument.argChoices), typed);
  if (name === 'file') return { kind: 'files' };
  if (name.endsWith('folder')) return { kind: 'folders' };
  if (name === 'name' || name === 'words') return loopsFor(typed, folder);
  if (name !== 'settings') return NOTHING;
  const keys = named(SET_KEYS.map((key) => `${key}=`));
  const { words = [] } = await loopsFor(typed, folder);
  return fitting([...words, ...keys], typed);
}

async function loopsFor(typed: string, folder: string | undefined): Promise<Completions> {
  const rows = await hall().list({ workspace: workspaceOf(folder === undefined ? {} : { cwd: folder }) });
  return fitting(
    rows.map(({ name, status, about }) => ({
      value: name,
      what: [status, about.task ?? []].flat().join(': '),
    })),
    typed,
  );
}

function agents(): readonly Word[] {
  return KNOWN_AGENTS.map(({ name, program }) => ({ value: name, what: program }));
}

function named(values: readonly string[]): readonly Word[] {
  return values.map((value) => ({ value, what: '' }));
}

function fitting(words: readonly Word[], typed: string): Completions {
  return { kind: 'words', words: words.filter(({ value }) => value.startsWith(typed)) };
}
