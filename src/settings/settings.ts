import type { NoticeKind } from '../loop/notice.ts';
import type { FailAction, OnProtectedChange, PresetName, Until } from '../loop/policy.ts';
import { isRecord } from '../loop/shape.ts';

/**
 * Everything that a user can set in `.ralph/settings.json`, with one key per option of `ralph run`. The command line
 * becomes the same object (`FLAGS`), so that `policy.ts` is the only way from a setting to the loop. `schema.ts`
 * validates and describes every key; `aliases.ts` accepts second names.
 */
export interface Settings {
  readonly $schema?: string | undefined;
  readonly preset?: PresetName | undefined;
  readonly maxIterations?: number | undefined;
  readonly maxTime?: Time | undefined;
  readonly maxFailures?: number | undefined;
  readonly maxLimitWaits?: number | undefined;
  readonly maxAttemptsPerItem?: number | undefined;
  readonly maxUnchanged?: number | undefined;
  readonly maxRepeats?: number | undefined;
  readonly maxCost?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly maxOutput?: Size | undefined;
  readonly iterationTimeout?: Time | undefined;
  readonly inactivityTimeout?: Time | undefined;
  readonly restartDelay?: Time | undefined;
  readonly killGrace?: Time | undefined;
  readonly childWait?: Time | undefined;
  readonly pollInterval?: Time | undefined;
  readonly interactive?: boolean | undefined;
  readonly readyTimeout?: Time | undefined;
  readonly keepAwake?: boolean | undefined;
  readonly checkpointMaxFile?: Size | undefined;
  readonly checkpointMaxTotal?: Size | undefined;
  readonly completionResponse?: string | undefined;
  readonly completionPromise?: string | undefined;
  readonly completionTag?: string | undefined;
  readonly donePattern?: string | undefined;
  readonly doneFile?: string | undefined;
  readonly until?: Until | undefined;
  readonly checks?: readonly CheckSettings[] | undefined;
  readonly checkTimeout?: Time | undefined;
  readonly plan?: string | false | undefined;
  readonly baseline?: boolean | undefined;
  readonly protect?: readonly string[] | undefined;
  readonly onProtectedChange?: OnProtectedChange | undefined;
  readonly outputTruncateChars?: number | undefined;
  readonly includeIterationCountInPrompt?: boolean | undefined;
  readonly agent?: AgentSettings | undefined;
  readonly scm?: ScmSettings | undefined;
  readonly worktree?: boolean | undefined;
  readonly sandbox?: boolean | SandboxSettings | undefined;
  readonly children?: ChildrenSettings | undefined;
  readonly setup?: readonly string[] | undefined;
  readonly setupTimeout?: Time | undefined;
  readonly streamAgentOutput?: boolean | undefined;
  readonly emoji?: boolean | undefined;
  readonly timestamps?: boolean | undefined;
  readonly outputLines?: number | undefined;
  readonly outputChars?: number | undefined;
  readonly notify?: readonly (string | NotifySettings)[] | undefined;
  /** Commands by the kind of notice that they are run for. */
  readonly on?: Readonly<Partial<Record<NoticeKind, string>>> | undefined;
  readonly mcp?: McpSettings | undefined;
}

/** Seconds, or a string with a unit: `90s`, `15m`, `2h`. */
export type Time = number | string;
/** Bytes, or a string with a unit: `500k`, `20m`, `1g`. */
export type Size = number | string;

export interface CheckSettings {
  readonly command: string;
  readonly failAction?: FailAction | undefined;
  readonly hint?: string | undefined;
}

export const PROMPT_WAYS = ['stdin', 'file', 'argument'] as const;

export interface AgentSettings {
  readonly name?: string | undefined;
  readonly command?: string | undefined;
  readonly flags?: readonly string[] | undefined;
  readonly model?: string | undefined;
  readonly promptVia?: (typeof PROMPT_WAYS)[number] | undefined;
  readonly env?: { readonly drop?: readonly string[] | undefined } | undefined;
}

export interface SandboxSettings {
  readonly checks?: boolean | undefined;
  readonly write?: readonly string[] | undefined;
  readonly hide?: readonly string[] | undefined;
  readonly network?: boolean | undefined;
}

export interface ChildrenSettings {
  readonly maxDepth?: number | undefined;
  readonly maxActive?: number | undefined;
}

/** What tools of `ralph mcp` can do to loops. */
export const MCP_CHANGES = ['start', 'pause', 'resume', 'stop', 'tell', 'answer'] as const;
export type McpChange = (typeof MCP_CHANGES)[number];

export interface McpSettings {
  readonly allow?: readonly McpChange[] | undefined;
}

export interface NotifySettings {
  readonly to: string;
  readonly name?: string | undefined;
  readonly key?: string | undefined;
  readonly events?: readonly NoticeKind[] | undefined;
  readonly timeout?: Time | undefined;
}

export interface ScmSettings {
  readonly command?: string | undefined;
  readonly tasks?: readonly string[] | undefined;
  readonly timeout?: Time | undefined;
}

/** Where a value comes from; later origins override earlier ones. */
export type Origin = 'default' | 'preset' | 'user' | 'file' | 'local' | 'flag';

export const SETTINGS_FILE = '.ralph/settings.json';
export const LOCAL_SETTINGS_FILE = '.ralph/settings.local.json';

/** The command-line option of each setting that has one. */
export const FLAGS: Readonly<Record<string, string>> = {
  preset: '--preset',
  maxIterations: '--max-iterations',
  maxTime: '--max-time',
  maxFailures: '--max-failures',
  maxLimitWaits: '--max-limit-waits',
  maxAttemptsPerItem: '--max-attempts-per-item',
  maxUnchanged: '--max-unchanged',
  maxCost: '--max-cost',
  maxTokens: '--max-tokens',
  maxOutput: '--max-output',
  iterationTimeout: '--iteration-timeout',
  inactivityTimeout: '--inactivity-timeout',
  restartDelay: '--restart-delay',
  killGrace: '--kill-grace',
  childWait: '--child-wait',
  pollInterval: '--poll-interval',
  interactive: '--interactive',
  readyTimeout: '--ready-timeout',
  keepAwake: '--keep-awake',
  checkpointMaxFile: '--checkpoint-max-file',
  checkpointMaxTotal: '--checkpoint-max-total',
  completionResponse: '--completion-response',
  completionPromise: '--completion-promise',
  completionTag: '--completion-tag',
  donePattern: '--done-pattern',
  doneFile: '--done-file',
  until: '--until',
  checks: '--check',
  checkTimeout: '--check-timeout',
  baseline: '--baseline',
  plan: '--plan',
  protect: '--protect',
  onProtectedChange: '--on-protected-change',
  'agent.name': '--agent',
  'agent.model': '--model',
  'agent.promptVia': '--prompt-via',
  'agent.env.drop': '--drop-env',
  worktree: '--worktree',
  sandbox: '--sandbox',
  notify: '--notify',
  streamAgentOutput: '--stream-agent-output',
  emoji: '--emoji',
  timestamps: '--timestamps',
  outputLines: '--output-lines',
  outputChars: '--output-chars',
};

/** Objects merge key by key; scalars and lists are replaced. */
export function mergeSettings(base: Settings, over: Settings): Settings {
  return mergeInto(base, over);
}

function mergeInto<T extends object>(base: T, over: object): T {
  const before = new Map<string, unknown>(Object.entries(base));
  const changed = Object.entries(over).flatMap(([key, value]: [string, unknown]): [string, unknown][] => {
    if (value === undefined) return [];
    const old = before.get(key);
    return [[key, isRecord(old) && isRecord(value) ? mergeInto(old, value) : value]];
  });
  return Object.assign({}, base, Object.fromEntries(changed));
}

/** The values that are set, each under its full path: `agent.flags`. */
export function leaves(settings: object): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>();
  const add = (path: string, value: unknown): void => {
    if (!isRecord(value)) found.set(path, value);
    else
      for (const [key, part] of Object.entries(value))
        if (part !== undefined) add(path === '' ? key : `${path}.${key}`, part);
  };
  add('', settings);
  return found;
}
