/** The command line of a command that starts a child loop from inside a sandbox. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { parseTags } from '../config/values.ts';
import type { ChildSettings, ChildStart } from '../loops/child-start.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { flagSettings, type RunOptions } from './options.ts';

export interface SandboxStart {
  readonly start: ChildStart;
  /** Whether the command returns once the loop runs. */
  readonly isDetached: boolean;
  /** Whether it then prints the summary of the loop. */
  readonly isJson: boolean;
}

export function startIn(command: 'run' | 'loop' | 'spawn', args: readonly string[]): SandboxStart {
  const at = args.indexOf('--');
  const words = at < 0 ? args : args.slice(0, at);
  const { values, positionals } = parsed(command, words);
  const { name, tag = [], check, until, agent } = values;
  const settings = flagSettings(
    definedOnly<RunOptions>({
      maxIterations: values['max-iterations'],
      maxTime: values['max-time'],
      maxCost: values['max-cost'],
      maxTokens: values['max-tokens'],
      check,
      until,
      agent,
    }),
  );
  const waits = values.wait === true || (values.ralph === true && values.detach !== true);
  return {
    start: {
      workspace: process.cwd(),
      prompt: { text: taskOf(positionals, values.prompt, values['prompt-file']) },
      name,
      tags: parseTags('--tag', tag),
      settings: { ...settings, ...COMMANDS[command] },
      command: at < 0 ? [] : args.slice(at + 1),
    },
    isDetached: command === 'spawn' ? !waits : values.detach === true,
    isJson: values.json === true,
  };
}

/** The presets of the commands. */
const COMMANDS: Readonly<Record<'run' | 'loop' | 'spawn', ChildSettings>> = {
  run: {},
  loop: { preset: 'architect' },
  spawn: { preset: 'swarm' },
};

/** Without what is undefined. */
function definedOnly<T extends object>(values: { readonly [Key in keyof T]: T[Key] | undefined }): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only undefined values are left out
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}

function parsed(command: string, args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    const [why = ''] = reasonOf(error).split(/[.\n]/, 1);
    const known = Object.keys(OPTIONS).map((option) => `--${option}`);
    throw new UserError(`ralph ${command} inside a sandbox: ${why}; it takes only ${known.join(', ')}`);
  }
}

const text = { type: 'string' } as const;
const texts = { type: 'string', multiple: true } as const;
const flag = { type: 'boolean' } as const;
const OPTIONS = {
  prompt: { ...text, short: 'p' },
  'prompt-file': { ...text, short: 'f' },
  name: text,
  tag: texts,
  'max-iterations': { ...text, short: 'm' },
  'max-time': text,
  'max-cost': text,
  'max-tokens': text,
  check: texts,
  until: text,
  agent: text,
  detach: { ...flag, short: 'd' },
  json: flag,
  wait: flag,
  ralph: flag,
  'no-tmux': flag,
} as const;

/** The text of the task: outside, a file in the sandbox may be another one. */
function taskOf(
  positionals: readonly string[],
  prompt: string | undefined,
  file: string | undefined,
): string {
  const given = [...positionals, ...(prompt === undefined ? [] : [prompt])];
  if (given.length + (file === undefined ? 0 : 1) !== 1)
    throw new UserError('name one task: a text in quotes, --prompt TEXT or --prompt-file FILE');
  const task = file === undefined ? (given[0] ?? '') : readTask(file);
  if (task.trim() === '') throw new UserError('the task is empty');
  if (Buffer.byteLength(task) > MAX_TASK_BYTES)
    throw new UserError(
      `the task has more than ${MAX_TASK_BYTES / 1024} KB; put it into a file, and name the file in the task`,
    );
  return task;
}

function readTask(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new UserError(`cannot read --prompt-file ${file}: ${reasonOf(error)}`);
  }
}

/** A request is small. */
const MAX_TASK_BYTES = 128 * 1024;
