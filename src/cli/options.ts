/** The options of the command line, and the settings that they stand for. */
import { closest } from '../settings/closest.ts';
import { PROMPT_WAYS, type Settings } from '../settings/settings.ts';
import { parseAmount, parseDuration, parseNames, parseSize, parseWhole } from '../settings/values.ts';
import { ON_PROTECTED_CHANGE, PRESET_NAMES, UNTILS } from '../loop/policy.ts';
import { UserError } from '../user-error.ts';

export interface ViewOptions {
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  readonly json?: boolean;
  readonly streamAgentOutput?: boolean;
  readonly emoji?: boolean;
  readonly timestamps?: boolean;
  readonly outputLines?: string;
  readonly outputChars?: string;
  readonly report?: string;
  readonly reportFile?: string;
  /** The loop's folder is removed after the loop, so the final report does not name it. */
  readonly isTemporary?: true;
}

export interface LimitOptions extends ViewOptions {
  readonly cwd?: string;
  readonly maxIterations?: string;
  readonly maximumIterations?: string;
  readonly maxTime?: string;
  readonly maxFailures?: string;
  readonly maxLimitWaits?: string;
  readonly maxAttemptsPerItem?: string;
  readonly maxUnchanged?: string;
  readonly maxCost?: string;
  readonly maxTokens?: string;
  readonly maxOutput?: string;
  readonly iterationTimeout?: string;
  readonly inactivityTimeout?: string;
  readonly restartDelay?: string;
  readonly killGrace?: string;
  readonly childWait?: string;
  readonly pollInterval?: string;
  readonly checkpointMaxFile?: string;
  readonly checkpointMaxTotal?: string;
}

export interface RunOptions extends LimitOptions {
  readonly prompt?: string;
  readonly promptFile?: string;
  readonly name?: string;
  readonly tag?: readonly string[];
  readonly preset?: string;
  readonly agent?: string;
  readonly model?: string;
  readonly env?: readonly string[];
  readonly dropEnv?: readonly string[];
  readonly promptVia?: string;
  readonly interactive?: boolean;
  readonly readyTimeout?: string;
  readonly check?: readonly string[];
  readonly checkTimeout?: string;
  readonly baseline?: boolean;
  readonly plan?: string | false;
  readonly protect?: readonly string[];
  readonly onProtectedChange?: string;
  readonly completionResponse?: string;
  readonly completionPromise?: string;
  readonly completionTag?: string;
  readonly donePattern?: string;
  readonly doneFile?: string;
  readonly until?: string;
  readonly worktree?: boolean;
  readonly sandbox?: boolean;
  readonly keepAwake?: boolean;
  readonly notify?: readonly string[];
  readonly fresh?: boolean;
  readonly trust?: boolean;
  readonly detach?: boolean;
  /** Print what a loop would start with, and start nothing. */
  readonly dryRun?: boolean;
  /** False for a loop that is no child of the run that starts it. */
  readonly child?: boolean;
}

/** The settings that the options of `ralph run` stand for. */
export function flagSettings(options: RunOptions): Settings {
  const { preset, agent, model, promptVia, check = [], dropEnv = [], protect, onProtectedChange } = options;
  const agentSettings = {
    name: agent,
    model,
    promptVia: promptVia === undefined ? undefined : oneOf('--prompt-via', promptVia, PROMPT_WAYS),
    env: dropEnv.length === 0 ? undefined : { drop: parseNames('--drop-env', dropEnv) },
  };
  return {
    ...limitSettings(options),
    preset: preset === undefined ? undefined : oneOf('--preset', preset, PRESET_NAMES),
    // Document 001: an empty response counts as not given.
    completionResponse: options.completionResponse === '' ? undefined : options.completionResponse,
    completionPromise: options.completionPromise,
    completionTag: options.completionTag,
    donePattern: options.donePattern,
    doneFile: options.doneFile,
    until: options.until === undefined ? undefined : oneOf('--until', options.until, UNTILS),
    checks: check.length === 0 ? undefined : check.map((command) => ({ command })),
    checkTimeout: time('--check-timeout', options.checkTimeout),
    baseline: options.baseline,
    plan: options.plan,
    protect,
    onProtectedChange:
      onProtectedChange === undefined
        ? undefined
        : oneOf('--on-protected-change', onProtectedChange, ON_PROTECTED_CHANGE),
    interactive: options.interactive,
    readyTimeout: time('--ready-timeout', options.readyTimeout),
    worktree: options.worktree,
    sandbox: options.sandbox,
    keepAwake: options.keepAwake,
    notify: options.notify,
    agent: Object.values(agentSettings).every((value) => value === undefined) ? undefined : agentSettings,
    ...viewSettings(options),
  };
}

/** The settings of the output. */
export function viewSettings(options: ViewOptions): Settings {
  return {
    streamAgentOutput: options.streamAgentOutput,
    emoji: options.emoji,
    timestamps: options.timestamps,
    outputLines: whole('--output-lines', options.outputLines, 0),
    outputChars: whole('--output-chars', options.outputChars, 0),
  };
}

function size(option: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseSize(option, text);
}

/** The settings of the limits. */
export function limitSettings(options: LimitOptions): Settings {
  const { maxCost } = options;
  return {
    maxIterations: whole('--max-iterations', options.maxIterations ?? options.maximumIterations, null),
    maxTime: time('--max-time', options.maxTime),
    maxFailures: whole('--max-failures', options.maxFailures, 1),
    maxLimitWaits: whole('--max-limit-waits', options.maxLimitWaits, 0),
    maxAttemptsPerItem: whole('--max-attempts-per-item', options.maxAttemptsPerItem, 1),
    maxUnchanged: whole('--max-unchanged', options.maxUnchanged, 0),
    maxCost: maxCost === undefined ? undefined : parseAmount('--max-cost', maxCost),
    maxTokens: whole('--max-tokens', options.maxTokens, 1),
    maxOutput: size('--max-output', options.maxOutput),
    iterationTimeout: time('--iteration-timeout', options.iterationTimeout),
    inactivityTimeout: time('--inactivity-timeout', options.inactivityTimeout),
    restartDelay: time('--restart-delay', options.restartDelay),
    killGrace: time('--kill-grace', options.killGrace),
    childWait: time('--child-wait', options.childWait),
    pollInterval: time('--poll-interval', options.pollInterval),
    checkpointMaxFile: size('--checkpoint-max-file', options.checkpointMaxFile),
    checkpointMaxTotal: size('--checkpoint-max-total', options.checkpointMaxTotal),
  };
}

/** The options, with the output settings filled in. */
export function viewOf<T extends ViewOptions>(options: T, settings: Settings): T {
  const { streamAgentOutput, emoji, timestamps, outputLines, outputChars } = settings;
  return {
    ...options,
    ...(streamAgentOutput === undefined ? {} : { streamAgentOutput }),
    ...(emoji === undefined ? {} : { emoji }),
    ...(timestamps === undefined ? {} : { timestamps }),
    ...(outputLines === undefined ? {} : { outputLines: String(outputLines) }),
    ...(outputChars === undefined ? {} : { outputChars: String(outputChars) }),
  };
}

function whole(option: string, text: string | undefined, minimum: number | null): number | undefined {
  return text === undefined ? undefined : parseWhole(option, text, minimum);
}

/** The text as given, if it is a valid duration; throws otherwise. */
function time(option: string, text: string | undefined): string | undefined {
  if (text !== undefined) parseDuration(option, text);
  return text?.trim();
}

/** Whether there is a plan to work through, which makes a task unnecessary. */
export function hasPlan({ plan }: RunOptions): boolean {
  return typeof plan === 'string' && plan !== '';
}

export function oneOf<const Value extends string>(
  option: string,
  text: string,
  values: readonly Value[],
): Value {
  const known = values.find((value) => value === text);
  if (known !== undefined) return known;
  const near = closest(text, values);
  const hint = near === null ? '' : ` (did you mean ${near}?)`;
  throw new UserError(`${option} must be one of ${values.join(', ')}, got ${JSON.stringify(text)}${hint}`);
}
