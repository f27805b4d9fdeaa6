/** The spec of a loop in a program, and its validation and translation into a request. */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { StartRequest } from '../loops/loops.ts';
import { fileOrText } from '../loops/given-prompt.ts';
import { resolveAliases, SETTING_ALIASES } from '../settings/aliases.ts';
import type { AgentSettings } from '../settings/settings.ts';
import { GROUPS, LOOP_GROUPS, type LoopRows } from '../settings/rows.ts';
import type { FailAction } from '../loop/policy.ts';
import {
  describeProblem,
  fields,
  fits,
  isRecord,
  optional,
  rule,
  show,
  string,
  table,
} from '../loop/shape.ts';
import type { PolicyInput } from '../loop/validate.ts';
import { UserError, reasonOf } from '../user-error.ts';
import { type AgentFunction, type Performer, performer } from './function-agent.ts';
import { rejectUnknown } from './unknown-options.ts';

/** A loop: the task, the agent, the checks and the limits. Limits have the same names as in the settings. */
export interface LoopSpec extends LoopSettings {
  /** The task. Either this or `promptFile` is required. */
  readonly prompt?: string | undefined;
  /** A file with the task, read before every run. */
  readonly promptFile?: string | undefined;
  /** A file that replaces `prompt` while it exists, read before every run. */
  readonly specFile?: string | undefined;
  readonly agent: LoopAgent;
  /** Commands that must exit with 0. */
  readonly checks?: readonly (string | LoopCheck)[] | undefined;
  /** @deprecated Alias of `checks`. */
  readonly guardrails?: readonly (string | LoopCheck)[] | undefined;
  /** @deprecated Alias of `maxIterations`. */
  readonly maximumIterations?: number | undefined;
  /** The folder to work in (default: the current folder). */
  readonly workspace?: string | undefined;
  /** Default: made from the prompt. */
  readonly name?: string | undefined;
  /** Variables for the agent and the checks, added to those of this program. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Archives an unfinished loop of the same name. */
  readonly fresh?: boolean | undefined;
  /** Aborting it stops the loop after the running step; `loop.stop({ now: true })` stops at once. */
  readonly signal?: AbortSignal | undefined;
  /** Overrides any other field of `Policy`. */
  readonly policy?: PolicyInput | undefined;
}

/** The settings of the loop itself, without those of the console. A program sees events itself, and needs no notices. */
export interface LoopSettings extends Omit<LoopRows, 'agent' | 'checks'> {}

/** A known agent by its name, a known agent with flags and a model, any command, or a function. */
export type LoopAgent = string | NamedAgent | CommandAgent | AgentFunction | FunctionAgent;

export interface NamedAgent extends Pick<AgentSettings, 'flags' | 'model' | 'promptVia'> {
  readonly name: string;
  /** Keeps a function, which has a `name` too, from matching this type. */
  readonly apply?: never;
  /** Environment variables to hide from it. */
  readonly dropEnv?: readonly string[] | undefined;
}

export interface CommandAgent {
  /** The program and its arguments; it gets the prompt on stdin. */
  readonly command: readonly string[];
  /** How to read its output: `custom` (plain text), `scripted` (lines of JSON) or a known agent. Default: by its program. */
  readonly name?: string | undefined;
  readonly promptVia?: AgentSettings['promptVia'];
  readonly dropEnv?: readonly string[] | undefined;
}

export interface FunctionAgent {
  readonly run: AgentFunction;
  readonly name?: string | undefined;
  /** Also prices its tokens if it does not report their cost. */
  readonly model?: string | undefined;
}

export interface LoopCheck {
  readonly command: string;
  /** Where the failure goes in the next prompt (default: `APPEND`). */
  readonly failAction?: FailAction | undefined;
  /** @deprecated Alias of `failAction`. */
  readonly action?: FailAction | undefined;
  readonly hint?: string | undefined;
}

/** What a program asks for, and what it has besides data. */
export function requestOf(given: LoopSpec): AskedLoop {
  const resolved = resolveAliases(given);
  const spec = resolved.content;
  const [clash] = resolved.clashes;
  if (clash !== undefined)
    throw new UserError(`${clash.alias} and ${clash.name} are two names of one option; keep one of them`);
  rejectUnknown(given, KNOWN);
  const [wrong] = TYPES(spec, '');
  if (wrong !== undefined)
    throw new UserError(describeProblem({ ...wrong, field: resolved.written(wrong.field) }));
  const { prompt, promptFile, specFile, agent, name, env, fresh, policy, signal: _, ...rest } = spec;
  const { workspace: folder = '.', ...settings } = rest;
  const workspace = resolve(folder);
  if (statSync(workspace, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UserError(`workspace must be an existing folder, got ${JSON.stringify(workspace)}`);
  if ((spec.scm?.tasks ?? []).length > 0 && spec.scm?.command === undefined)
    throw new UserError('scm.command is required with scm.tasks, for example: "git"');
  const { perform, ...called } = calledAgent(agent);
  const request: StartRequest = {
    ...called,
    workspace,
    name,
    prompt: promptOf({ prompt, promptFile, specFile }, workspace),
    files: 'ignored',
    settings: { ...settings, ...called.settings },
    policy,
    env,
    fresh,
  };
  return { request, named: resolved.written, perform };
}

export interface AskedLoop {
  readonly request: StartRequest;
  /** How the program has written a setting. */
  readonly named: (setting: string) => string;
  readonly perform?: Performer | undefined;
}

export function asFunction(agent: AgentFunction | FunctionAgent): Performer {
  const given: FunctionAgent = typeof agent === 'function' ? { run: agent } : agent;
  return performer(given.run, { name: given.name ?? 'function', model: given.model ?? null });
}

type CalledAgent = Partial<Pick<StartRequest, 'agent' | 'command' | 'settings' | 'defaults'>> &
  Pick<AskedLoop, 'perform'>;

function calledAgent(agent: LoopAgent): CalledAgent {
  if (typeof agent === 'function' || (isObject(agent) && 'run' in agent)) {
    const model = typeof agent === 'function' ? undefined : agent.model;
    // A function is read like the agent `scripted`, and has no command.
    const scripted = { kind: 'scripted', argv: [], ...(model === undefined ? {} : { model }) };
    return { agent: scripted, perform: asFunction(agent) };
  }
  if (typeof agent !== 'string' && !isObject(agent)) {
    throw new UserError(
      'agent must be the name of a known agent, { command: [...] } or a function, got ' + show(agent),
    );
  }
  const named: Partial<CommandAgent> & Omit<Partial<NamedAgent>, 'name'> =
    typeof agent === 'string' ? { name: agent } : agent;
  const { name, flags, model, promptVia, command = [], dropEnv } = named;
  return {
    command,
    settings: { agent: { name, model, promptVia, env: { drop: dropEnv } } },
    defaults: { agent: { flags } },
  };
}

function promptOf(
  { prompt, promptFile, specFile }: Pick<LoopSpec, 'prompt' | 'promptFile' | 'specFile'>,
  workspace: string,
): StartRequest['prompt'] {
  if (prompt !== undefined && promptFile !== undefined)
    throw new UserError('prompt and promptFile exclude each other; give one of them');
  if (promptFile !== undefined) return readable('promptFile', resolve(workspace, promptFile));
  if (typeof prompt !== 'string' || prompt.trim() === '')
    throw new UserError('prompt or promptFile is required and must not be empty');
  if (specFile === undefined) return { text: prompt };
  const found = readable('specFile', resolve(workspace, specFile));
  return 'file' in found ? { text: prompt, spec: found.file } : { ...found, isSpecification: true };
}

function readable(option: string, path: string): ReturnType<typeof fileOrText> {
  try {
    return fileOrText(path);
  } catch (error) {
    throw new UserError(`cannot read ${option} ${path}: ${reasonOf(error)}`, 2, { cause: error });
  }
}

/** What is checked at run time, for programs in JavaScript; the policy checks the settings. */
const TYPES = fields({
  workspace: optional(string),
  name: optional(string),
  checks: optional(rule('a list', Array.isArray)),
  signal: optional(rule('an AbortSignal', (value) => value instanceof AbortSignal)),
  env: optional(rule('an object of strings', (value) => fits(table(string), value))),
  agent: (value, field) =>
    isRecord(value) && 'command' in value ? COMMAND(value['command'], `${field}.command`) : [],
});

const COMMAND = rule(
  'a list of strings that starts with a program',
  (value) => Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === 'string'),
);

/** Every key of a spec: its own, and those of the settings. */
const KNOWN: readonly string[] = [
  ...'prompt promptFile specFile workspace name env fresh signal policy'.split(' '),
  ...LOOP_GROUPS.flatMap((group) => Object.keys(GROUPS[group])),
  ...SETTING_ALIASES.keys(),
];

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
