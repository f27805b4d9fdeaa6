/** The child loop that is asked of the owner of a sandbox, from the request of a front. */
import { isRecord } from '../loop/shape.ts';
import { NO_PROMPT, readBase } from '../owner/prompt-source.ts';
import type { StartRequest } from '../owner/make-request.ts';
import { FLAGS, leaves } from '../settings/settings.ts';
import { GROUPS } from '../settings/rows.ts';
import { UserError, reasonOf } from '../user-error.ts';
import { CHILD_SETTINGS, type ChildStart } from './child-start.ts';

/** Throws if the request has something that a sandbox cannot choose. The task is read here: outside, the file may be another one. */
export function childStart(request: StartRequest): ChildStart {
  const { workspace, name, prompt, tags, command = [], settings, child, ...others } = request;
  const isSpecification = prompt !== undefined && ('spec' in prompt || 'isSpecification' in prompt);
  const refused = [
    ...(isSpecification ? ['--spec'] : []),
    ...[...leaves(settings)].flatMap(([key, value]) =>
      CHOSEN.has(key) || key in GROUPS.output ? [] : optionOf(key, value),
    ),
    ...(child === false ? ['--no-child'] : []),
    ...Object.entries(others).flatMap(([part, value]) => (isEmpty(value) ? [] : (OTHERS[part] ?? []))),
  ];
  if (refused.length > 0) throw notInSandbox(refused);
  const { preset, maxIterations, maxTime, maxCost, maxTokens, checks, until, agent } = settings;
  return {
    workspace,
    name,
    prompt: { text: textOf(prompt) },
    tags,
    command,
    settings: {
      preset,
      maxIterations,
      maxTime,
      maxCost,
      maxTokens,
      checks,
      until,
      agent: agent?.name === undefined ? undefined : { name: agent.name },
    },
  };
}

/** Refuses options that a child loop of a sandbox cannot have. */
export function notInSandbox(options: readonly string[]): UserError {
  const [verb, object] = options.length === 1 ? ['does', 'it'] : ['do', 'them'];
  const allowed = [...CHOSEN].map((key) => FLAGS[key] ?? key).join(', ');
  return new UserError(
    `${options.join(', ')} ${verb} not work inside a sandbox: a child loop has the agent, the environment and the folder of its parent. Drop ${object}; a child can have a task, --name, --tag, ${allowed}`,
  );
}

/** The settings that a sandbox can choose, under their full paths. */
const CHOSEN: ReadonlySet<string> = new Set(
  Object.keys(CHILD_SETTINGS).map((key) => (key === 'agent' ? 'agent.name' : key)),
);

/** The options that set the other parts of a request; null for what a child loop has no use for, or has from its parent anyway. */
const OTHERS: Readonly<Record<string, string | null>> = {
  id: 'an id',
  promptFrom: null,
  window: '--session or --tmux-socket',
  worktreeAt: null,
  defaults: null,
  files: 'files',
  policy: 'a policy',
  agent: null,
  env: '--env',
  fresh: '--fresh',
  trust: '--trust',
} satisfies Record<Exclude<keyof StartRequest, keyof ChildStart | 'child'>, string | null>;

function isEmpty(value: unknown): boolean {
  return value === undefined || (isRecord(value) && Object.keys(value).length === 0);
}

function optionOf(key: string, value: unknown): string {
  const option = FLAGS[key] ?? key;
  return value === false ? option.replace(/^--/, '--no-') : option;
}

function textOf(prompt: StartRequest['prompt']): string {
  if (prompt === undefined) throw new UserError(NO_PROMPT);
  try {
    const { text } = readBase(prompt);
    if (text.trim() !== '') return text;
  } catch (error) {
    throw new UserError(`cannot read the task: ${reasonOf(error)}`);
  }
  throw new UserError('the task is empty');
}
