/** What a program says of the loop that it wants, and how that becomes a request: or a message that says what is wrong. */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { chooseAgent, notesOn, withSettings } from '../owner/choose-agent.ts';
import { checkSpendLimits } from '../owner/money.ts';
import type { LoopRequest } from '../owner/open-loop.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { policyInput, settingOf } from '../config/policy.ts';
import type { AgentSettings, Settings } from '../config/config.ts';
import { parseDuration, parseSize } from '../config/values.ts';
import { DEFAULT_POLICY } from '../loop/default-policy.ts';
import { hostNote } from '../loop/host-note.ts';
import { PRESET_NAMES, type FailAction, type Policy } from '../loop/policy.ts';
import { presets } from '../loop/presets.ts';
import {
  describeProblem,
  findProblems,
  mergePolicy,
  resolvePolicy,
  type PolicyInput,
} from '../loop/validate.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { performer, type AgentFunction } from './function-agent.ts';
import { refuseUnknown } from './unknown-options.ts';

/** A loop: what is to be done, by whom, and what must hold. Limits have the names that they have in the settings. */
export interface LoopSpec extends LoopSettings {
  /** What is to be done, in words; or the file that says it, read anew before every run. */
  readonly prompt?: string | undefined;
  readonly promptFile?: string | undefined;
  /** A specification that takes the place of `prompt` for as long as its file is there; read anew before every run. */
  readonly specFile?: string | undefined;
  readonly agent: LoopAgent;
  /** Commands that must exit 0. */
  readonly checks?: readonly (string | LoopCheck)[] | undefined;
  /** The folder of the work; where the program runs, if nothing is said. */
  readonly workspace?: string | undefined;
  /** Made up from the prompt, if nothing is said. */
  readonly name?: string | undefined;
  /** Variables for the agent and the checks, besides those of this program. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Puts an unfinished loop of the same name aside. */
  readonly fresh?: boolean | undefined;
  /** When it is aborted the loop stops, once the running step is finished; `loop.stop({ now: true })` ends at once. */
  readonly signal?: AbortSignal | undefined;
  /** Whatever else a policy has: see `Policy`. */
  readonly policy?: PolicyInput | undefined;
}

/** The settings that are about the loop, and not about what is shown of it. */
export type LoopSettings = Omit<
  Settings,
  | '$schema'
  | 'agent'
  | 'guardrails'
  | 'streamAgentOutput'
  | 'emoji'
  | 'timestamps'
  | 'outputLines'
  | 'outputChars'
>;

/** A known agent by its name, a known agent with flags and a model, any command, or a function. */
export type LoopAgent = string | NamedAgent | CommandAgent | AgentFunction | FunctionAgent;

export interface NamedAgent extends Pick<AgentSettings, 'flags' | 'model' | 'promptVia'> {
  readonly name: string;
  /** A function has a name too, and is no agent by that alone. */
  readonly apply?: never;
  /** Variables that it does not get to see. */
  readonly dropEnv?: readonly string[] | undefined;
}

export interface CommandAgent {
  /** The program and its arguments; the prompt is on its standard input. */
  readonly command: readonly string[];
  /** How its output is read: `custom` (plain words), `scripted` (lines of JSON) or a known agent, told by its program. */
  readonly name?: string | undefined;
  readonly promptVia?: AgentSettings['promptVia'];
  readonly dropEnv?: readonly string[] | undefined;
}

export interface FunctionAgent {
  readonly run: AgentFunction;
  readonly name?: string | undefined;
  /** Also for the price of its tokens, where it does not tell what they cost. */
  readonly model?: string | undefined;
}

export interface LoopCheck {
  readonly command: string;
  /** Where what it said goes in the next prompt. */
  readonly action?: FailAction | undefined;
  readonly hint?: string | undefined;
}

export async function requestOf(spec: LoopSpec): Promise<LoopRequest> {
  refuseUnknown(spec, Object.keys(KNOWN));
  refuseMisshapen(spec);
  const workspace = resolve(spec.workspace ?? '.');
  if (statSync(workspace, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UserError(`workspace must be a folder that is there, got ${JSON.stringify(workspace)}`);
  const policy = policyOf(spec, workspace);
  const given = spec.env ?? {};
  const env = { ...startersEnvironment(process.env), ...given };
  const { agent, perform } = await agentOf(spec, policy, env, workspace);
  await checkSpendLimits(policy.limits, agent);
  // A function runs in this program, so no host is missing.
  const host = perform === undefined ? hostNote(policy) : null;
  return {
    workspace,
    name: spec.name ?? null,
    policy,
    agent,
    notes: [...(host === null ? [] : [host]), ...notesOn(agent)],
    prompt: promptOf(spec, workspace),
    env,
    fresh: spec.fresh === true,
    worktree: spec.worktree === true,
    parent: null,
    perform,
  };
}

/** The name of a function's agent, where it has none. */
const FUNCTION = 'function';

export function asFunction(agent: AgentFunction | FunctionAgent): NonNullable<LoopRequest['perform']> {
  const {
    run,
    name = FUNCTION,
    model,
  } = typeof agent === 'function' ? { run: agent, model: undefined } : agent;
  return performer(run, { name, model: model ?? null });
}

type Chosen = Pick<LoopRequest, 'agent' | 'perform'>;

async function agentOf(
  { agent, env: given = {} }: LoopSpec,
  { calls }: Policy,
  env: Readonly<Record<string, string>>,
  workspace: string,
): Promise<Chosen> {
  if (typeof agent === 'function' || (isObject(agent) && 'run' in agent)) {
    const model = typeof agent === 'function' ? undefined : agent.model;
    // It prints what the agent `scripted` prints, and has no command.
    const scripted = { kind: 'scripted', argv: [], ...(model === undefined ? {} : { model }) };
    return { agent: scripted, perform: asFunction(agent) };
  }
  if (typeof agent !== 'string' && !isObject(agent)) {
    throw new UserError(
      'agent must be the name of a known agent, { command: […] } or a function, got ' + shown(agent),
    );
  }
  const named: Partial<CommandAgent> & Omit<Partial<NamedAgent>, 'name'> =
    typeof agent === 'string' ? { name: agent } : agent;
  const { name, flags, model, promptVia, command = [], dropEnv = [] } = named;
  const choice = withSettings(
    { agent: name ?? null, model: null, command, promptVia: null, drop: dropEnv, given: Object.keys(given) },
    { name, flags, model, promptVia },
  );
  const called = { ...choice, promptVia: choice.promptVia ?? promptVia ?? null };
  return { agent: await chooseAgent(called, calls, env, workspace) };
}

function promptOf({ prompt, promptFile, specFile }: LoopSpec, workspace: string): LoopRequest['prompt'] {
  if (prompt !== undefined && promptFile !== undefined)
    throw new UserError('prompt and promptFile cannot both be given');
  if (promptFile !== undefined) return { file: readable('promptFile', resolve(workspace, promptFile)) };
  if (typeof prompt !== 'string' || prompt.trim() === '')
    throw new UserError('prompt or promptFile must be given, and say something');
  if (specFile === undefined) return { text: prompt };
  return { text: prompt, spec: readable('specFile', resolve(workspace, specFile)) };
}

function readable(option: string, path: string): string {
  try {
    readFileSync(path);
  } catch (error) {
    throw new UserError(`cannot read ${option} ${path}: ${reasonOf(error)}`, 2, { cause: error });
  }
  return path;
}

function policyOf(spec: LoopSpec, workspace: string): Policy {
  for (const key of TIMES) if (spec[key] !== undefined) parseDuration(key, String(spec[key]));
  if (spec.maxOutput !== undefined) parseSize('maxOutput', String(spec.maxOutput));
  if ((spec.scm?.tasks ?? []).length > 0 && spec.scm?.command === undefined)
    throw new UserError('scm.command must be given with scm.tasks, for example: "git"');
  const guardrails = spec.checks?.map((check) => {
    const { command, action, hint } =
      typeof check === 'string' ? { command: check } : { ...NO_MORE, ...check };
    return { command, failAction: action, hint };
  });
  const settings: Settings = { ...spec, agent: undefined, guardrails };
  const preset = PRESET_NAMES.find((name) => name === spec.preset);
  const base = preset === undefined ? DEFAULT_POLICY : presets[preset].policy;
  const resolution = resolvePolicy({
    preset: spec.preset,
    ...policyInput(settings, base, workspace),
  });
  const policy = resolution.ok ? mergePolicy(resolution.policy, spec.policy ?? {}) : null;
  const problems = resolution.ok ? findProblems(policy) : resolution.problems;
  if (policy !== null && problems.length === 0) return policy;
  const named = problems.map((problem) => {
    const field = settingOf(problem.field, settings)?.replace('guardrails', 'checks') ?? problem.field;
    return describeProblem({ ...problem, field });
  });
  throw new UserError(named.join('; '));
}

const NO_MORE = { action: undefined, hint: undefined };

const TIMES = [
  'maxTime',
  'iterationTimeout',
  'inactivityTimeout',
  'restartDelay',
  'killGrace',
  'checkTimeout',
  'setupTimeout',
] as const;

/** What the types say, for those who have none. */
function refuseMisshapen({ workspace, name, env, checks, signal, agent }: LoopSpec): void {
  const problem =
    wrong('workspace', 'a text', workspace, isText) ??
    wrong('name', 'a text', name, isText) ??
    wrong('checks', 'a list', checks, Array.isArray) ??
    wrong('signal', 'an AbortSignal', signal, (value) => value instanceof AbortSignal) ??
    wrong(
      'env',
      'an object of texts',
      env,
      (value) => isObject(value) && Object.values(value).every(isText),
    ) ??
    (isObject(agent) && 'command' in agent
      ? wrong('agent.command', 'a list of words, with a program first', agent.command, isCommand)
      : null);
  if (problem !== null) throw new UserError(problem);
}

function wrong(
  name: string,
  expected: string,
  value: unknown,
  holds: (value: unknown) => boolean,
): string | null {
  return value === undefined || holds(value) ? null : `${name} must be ${expected}, got ${shown(value)}`;
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isCommand(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isText);
}

const KNOWN: Readonly<Record<keyof LoopSpec, true>> = {
  prompt: true,
  promptFile: true,
  specFile: true,
  agent: true,
  checks: true,
  workspace: true,
  name: true,
  env: true,
  fresh: true,
  signal: true,
  policy: true,
  preset: true,
  maximumIterations: true,
  maxTime: true,
  maxFailures: true,
  maxCost: true,
  maxTokens: true,
  maxOutput: true,
  iterationTimeout: true,
  inactivityTimeout: true,
  restartDelay: true,
  killGrace: true,
  completionResponse: true,
  completionPromise: true,
  completionTag: true,
  donePattern: true,
  doneFile: true,
  until: true,
  checkTimeout: true,
  baseline: true,
  setup: true,
  setupTimeout: true,
  worktree: true,
  outputTruncateChars: true,
  includeIterationCountInPrompt: true,
  scm: true,
};

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function shown(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}
