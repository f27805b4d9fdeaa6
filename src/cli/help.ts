/** The texts of the help: what an option is for and its default, and the first pages, which fit a terminal of 80 × 24. */
import type { Command } from 'commander';
import { sizeSetting } from '../loop/counted.ts';
import type { PresetName } from '../loop/policy.ts';
import { presets } from '../loop/presets.ts';
import { OUTSIDE_POLICY, settingsOf } from '../settings/policy.ts';
import { zeroOf } from '../settings/rows.ts';
import { columns, wrap } from '../text/columns.ts';
import type { OptionHelp, ShownOption } from './program-call.ts';
import type { OptionRow, Settable } from './option-rows.ts';
import type { OptionTexts } from './program-options.ts';

/** With `isWhole` every option and command has its line, in groups. */
export function optionHelp(isWhole: boolean): OptionHelp {
  return {
    textsOf,
    shorten(command, name, options) {
      if (isWhole) return;
      command.configureHelp({
        formatHelp: (_, { helpWidth }) => everydayOptions(command, name, options, helpWidth),
      });
    },
  };
}

/** The preset whose defaults a command has. */
const PRESETS: Readonly<Record<Settable, PresetName>> = {
  run: 'default',
  config: 'default',
  resume: 'default',
  loop: 'architect',
  spawn: 'swarm',
};

function textsOf(row: OptionRow, name: Settable, path?: string): OptionTexts {
  const { says, off, byDefault, list } = row;
  const zero = zeroOf(row);
  const value = path === undefined ? undefined : defaultOf(name, path);
  const isSwitch = off !== undefined && byDefault === undefined && value !== undefined;
  const isOn = value !== false && value !== null;
  const stated = isSwitch ? (isOn ? 'default' : null) : defaultNote(row, name, path);
  const on = [
    ...(stated === null ? [] : [stated]),
    ...(zero === undefined || stated === `default ${zero}` ? [] : [`0 = ${zero}`]),
    ...(list === undefined ? [] : ['repeatable']),
  ];
  return { on: withNotes(says, on), off: withNotes(off ?? '', isSwitch && !isOn ? ['default'] : []) };
}

/** Words that are in parentheses already get the notes in there. */
function withNotes(says: string, notes: readonly string[]): string {
  if (notes.length === 0) return says;
  const [start, separator] = says.endsWith(')') ? [says.slice(0, -1), ', '] : [says, ' ('];
  return `${start}${separator}${notes.join(', ')})`;
}

function defaultNote({ byDefault, type, list }: OptionRow, name: Settable, path?: string): string | null {
  const value = path === undefined ? undefined : defaultOf(name, path);
  if (name === 'resume' && path !== undefined && value === undefined) return null;
  if (byDefault !== undefined) return `default${/\s/.test(byDefault) ? ':' : ''} ${byDefault}`;
  if (type === 'iterations' && presets[PRESETS[name]].iterations.required) return 'required';
  if (value === undefined || type === 'yes-no' || type === 'preset' || list !== undefined) return null;
  if (value === null) return `default ${type === 'text' ? 'none' : 'unlimited'}`;
  return `default ${type === 'size' ? sizeSetting(Number(value)) : JSON.stringify(value).replaceAll('"', '')}`;
}

/** The default of a setting in the loops of a command; undefined if it has none, or if a resumed loop keeps its value. */
function defaultOf(name: Settable, path: string): unknown {
  // `ralph loop` looks at the checks before it starts.
  if (name === 'loop' && path === 'baseline') return true;
  if (path in OUTSIDE_POLICY) return OUTSIDE_POLICY[path] ?? undefined;
  return name === 'resume' ? undefined : settingsOf(presets[PRESETS[name]].policy)[path];
}

/** One line for each everyday option of a command, with an example of it. */
function everydayOptions(
  command: Command,
  name: Settable,
  options: readonly ShownOption[],
  width = 80,
): string {
  const rows = options
    .filter(({ row }) => row.everyday !== undefined)
    .map(({ row, path }) => {
      const stated = row.off === undefined ? defaultNote(row, name, path) : null;
      return [
        `  ${row.flag.replace(/ <.*/, '')} ${row.everyday}`,
        withNotes(gist(row.says), stated === null ? [] : [stated]),
      ];
    });
  return [
    ...wrap(`Usage: ralph ${name} ${command.usage()}`, width),
    '',
    ...wrap(command.description(), width),
    '',
    'Everyday options, each with an example:',
    columns(rows, { width }).trimEnd(),
    '',
    `All options: ralph help ${name} --all`,
    '',
  ].join('\n');
}

/** The start of a description, without details, examples and pages. */
function gist(says: string): string {
  return says.replace(/(?:[:;(]|, (?:e\.g\.|at most)).*$/, '').trim();
}

/** The first page: the commands of an evening and of a morning. */
export function firstPage(program: Command, width = 80): string {
  const rowsOf = (names: readonly string[]): string =>
    columns(
      names.map((name) => [
        `  ${name}`,
        program.commands
          .find((one) => one.name() === name)
          ?.description()
          .replace(/:.*/, '') ?? '',
      ]),
      { width },
    ).trimEnd();
  return [
    'Usage: ralph [COMMAND] [options]',
    '',
    ...wrap(program.description(), width),
    '',
    'In the evening:',
    rowsOf(['init', 'run', 'attach', 'stop']),
    '',
    'In the morning:',
    rowsOf(['status', 'report', 'diff', 'resume']),
    '',
    ...EXAMPLES,
    '',
    'One command: ralph help run     Everything: ralph help --all',
    '',
  ].join('\n');
}

const EXAMPLES = [
  'Examples:',
  '  ralph run "fix the failing tests" --check "npm test" --agent claude',
  '  ralph run -f TASK.md --check "npm test" --max-cost 5 --worktree --detach',
];
