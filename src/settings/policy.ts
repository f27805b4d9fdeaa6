/** Turns settings into a policy, and a policy back into settings for `ralph config`. */
import { isAbsolute, relative, resolve } from 'node:path';
import type { Detector } from '../loop/completion.ts';
import type { Check, CommitPolicy, PlanPolicy, Policy } from '../loop/policy.ts';
import type { PolicyInput } from '../loop/validate.ts';
import { isRecord } from '../loop/shape.ts';
import { type CheckSettings, leaves, mergeDeep, nested, type Settings, type Time } from './settings.ts';
import { sandboxPolicy } from './sandbox.ts';
import { type Row, type SettingPath, VALUES, zeroOf } from './rows.ts';
import { parseDuration, parseSize } from './values.ts';
import { durationText } from '../loop/counted.ts';

/**
 * What each setting means: the field of the policy that it sets, where it sets nothing else; how a policy shows it and the fields that
 * it is behind, where `policyInput` does more; null where it is not part of the policy.
 */
const MEANINGS: Readonly<Record<SettingPath, Field | Meaning | null>> = {
  preset: { fields: ['preset'], shown: ({ preset }) => preset },
  worktree: null,
  keepAwake: 'keepAwake',
  setup: 'worktree.setup',
  setupTimeout: 'worktree.setupTimeoutMs',
  'scm.command': { fields: ['commit.command'], shown: ({ commit }) => commit?.command ?? null },
  'scm.tasks': { fields: ['commit.tasks'], shown: ({ commit }) => commit?.tasks ?? [] },
  'scm.timeout': { fields: ['commit.timeoutMs'], shown: ({ commit }) => time(commit?.timeoutMs ?? null) },
  'children.maxDepth': 'childLimits.maxDepth',
  'children.maxActive': 'childLimits.maxActive',
  includeIterationCountInPrompt: {
    shown: ({ prompt }) => prompt.sections.includes('iteration-count'),
  },
  'agent.name': null,
  'agent.command': null,
  'agent.flags': null,
  'agent.model': null,
  'agent.promptVia': null,
  'agent.env.drop': null,
  interactive: { shown: ({ host }) => host === 'tmux' },
  readyTimeout: 'timeouts.readyMs',
  sandbox: { fields: ['sandbox'], shown: ({ sandbox }) => sandbox !== null },
  'sandbox.checks': { fields: ['sandbox.checks'], shown: ({ sandbox }) => sandbox?.checks ?? null },
  'sandbox.write': { fields: ['sandbox.write'], shown: ({ sandbox }) => sandbox?.write ?? null },
  'sandbox.hide': { fields: ['sandbox.hide'], shown: ({ sandbox }) => sandbox?.hide ?? null },
  'sandbox.network': { fields: ['sandbox.network'], shown: ({ sandbox }) => sandbox?.network ?? null },
  checks: { fields: ['checks.commands'], shown: ownChecks },
  checkTimeout: 'checks.timeoutMs',
  plan: { fields: ['plan.file'], shown: ({ plan }) => plan?.file ?? null },
  baseline: 'checks.baseline',
  protect: 'evidence.protect',
  onProtectedChange: 'evidence.onProtectedChange',
  until: 'completion.until',
  completionPromise: { shown: (policy) => wordOf(policy, 'promise-tag') },
  completionResponse: { shown: (policy) => wordOf(policy, 'response-tag') },
  completionTag: { shown: (policy) => wordOf(policy, 'word') },
  donePattern: {
    shown: ({ completion }) =>
      completion.detectors.find((detector) => detector.kind === 'pattern')?.pattern ?? null,
  },
  doneFile: {
    shown: ({ completion }) =>
      completion.detectors.find((detector) => detector.kind === 'marker')?.file ?? null,
  },
  outputTruncateChars: 'checks.excerpt.chars',
  maxIterations: 'limits.iterations',
  maxTime: 'limits.timeMs',
  maxCost: 'limits.costUsd',
  maxTokens: 'limits.tokens',
  maxFailures: 'limits.failures',
  maxLimitWaits: 'limits.limitWaits',
  maxAttemptsPerItem: 'limits.attemptsPerItem',
  maxUnchanged: { fields: ['limits.unchanged.end'], shown: ({ limits }) => limits.unchanged?.end ?? null },
  maxRepeats: 'limits.repeats',
  maxOutput: 'limits.outputBytes',
  iterationTimeout: 'timeouts.runMs',
  inactivityTimeout: 'timeouts.inactivityMs',
  restartDelay: {
    fields: ['delay.afterOkMs', 'delay.afterFailure.ms'],
    shown: ({ delay }) => time(delay.afterOkMs),
  },
  killGrace: 'timeouts.killGraceMs',
  childWait: { fields: ['children.waitMs'], shown: ({ children }) => time(children?.waitMs ?? 0) },
  pollInterval: { fields: ['children.pollMs'], shown: ({ children }) => time(children?.pollMs ?? null) },
  checkpointMaxFile: 'checkpointMaxFile',
  checkpointMaxTotal: 'checkpointMaxTotal',
  notify: null,
  on: null,
  streamAgentOutput: null,
  timestamps: null,
  emoji: null,
  outputLines: null,
  outputChars: null,
  'mcp.allow': null,
};

const MEANING: ReadonlyMap<string, Field | Meaning | null> = new Map(Object.entries(MEANINGS));

interface Meaning {
  /** None for a setting whose problems are found in another way. */
  readonly fields?: readonly string[];
  readonly shown: (policy: Policy) => unknown;
}

/** The path of a value in a policy. */
type Field = FieldIn<Policy>;
type FieldIn<T> = {
  [Key in keyof T & string]: T[Key] extends object
    ? Key | (T[Key] extends readonly unknown[] ? never : `${Key}.${FieldIn<T[Key]>}`)
    : Key;
}[keyof T & string];

/** What the settings change in a policy. */
export function policyInput(settings: Settings, base: Policy, workspace: string): PolicyInput {
  const { checks, scm } = settings;
  const plan = planFrom(settings, workspace);
  const delay = milliseconds('restartDelay', settings.restartDelay);
  const special: PolicyInput = {
    host: hostFrom(settings),
    limits: { unchanged: unchangedLimit(settings.maxUnchanged) },
    timeouts: settings.interactive === true ? { inactivityOf: 'screen', inactivityIs: 'restart' } : undefined,
    delay: {
      afterOkMs: delay,
      ...(delay !== undefined && base.delay.afterFailure.kind === 'fixed'
        ? { afterFailure: { kind: 'fixed', ms: delay } }
        : {}),
    },
    completion: { detectors: detectorsOn(settings, base, workspace) },
    checks: { commands: commands(checks, plan, base) },
    plan,
    prompt: { sections: sections(settings, base) },
    sandbox: settings.sandbox === undefined ? undefined : sandboxPolicy(settings.sandbox),
    children: waitForChildren(settings, base),
    ...(settings.worktree === true && scm?.tasks === undefined ? { commit: PLAIN_COMMIT } : {}),
    ...(scm === undefined || (scm.tasks ?? []).length === 0
      ? {}
      : {
          commit: {
            command: scm.command,
            tasks: scm.tasks,
            // An agent in a terminal has no answer that could be read.
            message: settings.interactive === true ? 'plain' : 'agent',
            timeoutMs: scm.timeout === undefined ? TASK_MS : milliseconds('scm.timeout', scm.timeout) || null,
          },
        }),
  };
  return [...leaves(settings)].reduce<PolicyInput>(
    (input, [path, value]) => mergeDeep(input, fieldFrom(path, value)),
    special,
  );
}

/** What a setting sets that only sets a field; nothing for any other. */
function fieldFrom(path: string, value: unknown): PolicyInput {
  const field = MEANING.get(path);
  if (typeof field !== 'string') return {};
  const row: Row = VALUES.get(path) ?? { says: '' };
  const isTime = row.type === 'time' || row.type === 'timeout';
  const text = String(value);
  const set = isTime ? milliseconds(path, text) : row.type === 'size' ? parseSize(path, text) : value;
  return nested(field, set === 0 && zeroOf(row) === 'unlimited' ? null : set);
}

/** A policy as settings; null for none. */
export function settingsOf(policy: Policy): Shown {
  return Object.fromEntries(
    [...MEANING].flatMap(([path, meaning]): [string, unknown][] => {
      if (meaning === null) return [];
      return [[path, typeof meaning === 'string' ? fieldOf(policy, meaning) : meaning.shown(policy)]];
    }),
  );
}

export type Shown = Readonly<Record<string, unknown>>;

function fieldOf(policy: Policy, field: Field): unknown {
  const value = field
    .split('.')
    .reduce<unknown>((inner, key) => (isRecord(inner) ? inner[key] : undefined), policy);
  return field.endsWith('Ms') && typeof value === 'number' ? durationText(value) : value;
}

/** The settings that no policy has, with their defaults; null for none. */
export const OUTSIDE_POLICY: Shown = Object.fromEntries(
  [...MEANING]
    .filter(([path, meaning]) => meaning === null && path !== 'on')
    .map(([path]) => [path, VALUES.get(path)?.default ?? null]),
);

/** The setting that sets a field of the policy; null if there is none. */
export function settingOf(field: string, settings: Settings): string | null {
  const detector = /^completion\.detectors\[(\d+)\]/.exec(field)?.[1];
  if (detector !== undefined)
    return DETECTOR_SETTINGS.filter((key) => settings[key] !== undefined)[Number(detector)] ?? null;
  for (const [path, meaning] of MEANING) {
    const fields = typeof meaning === 'string' ? [meaning] : (meaning?.fields ?? []);
    const found = fields.find((one) => field === one || field.startsWith(`${one}[`));
    if (found !== undefined) return path + field.slice(found.length).replace(/\.action$/, '.failAction');
  }
  return null;
}

function wordOf({ completion }: Policy, kind: Detector['kind']): string | null {
  for (const detector of completion.detectors)
    if (detector.kind === kind && 'value' in detector) return detector.value;
  return null;
}

/** The checks without that of the plan. */
function ownChecks({ checks }: Policy): readonly CheckSettings[] {
  return checks.commands.flatMap(({ command, action, hint, plan }) =>
    plan === true ? [] : [{ command, failAction: action, ...(hint === null ? {} : { hint }) }],
  );
}

/** Null for no wait; undefined if the settings do not change it. An interval alone changes nothing where no loop waits. */
function waitForChildren(
  { childWait, pollInterval }: Settings,
  base: Policy,
): Policy['children'] | undefined {
  const waitMs = milliseconds('childWait', childWait) ?? base.children?.waitMs;
  const pollMs = milliseconds('pollInterval', pollInterval) ?? base.children?.pollMs ?? POLL_MS;
  return waitMs === undefined ? undefined : waitMs === 0 ? null : { waitMs, pollMs };
}

const POLL_MS = 1000;

/** The user's checks and then that of the plan; undefined if the settings do not change them. */
function commands(
  checks: Settings['checks'],
  plan: PlanPolicy | null | undefined,
  base: Policy,
): readonly Check[] | undefined {
  if (checks === undefined && plan === undefined) return undefined;
  const own = checks?.map(({ command, failAction, hint }): Check => ({
    command,
    action: failAction ?? 'APPEND',
    // An empty hint in a file is the same as none.
    hint: hint === undefined || hint === '' ? null : hint,
  }));
  return [
    ...(own ?? base.checks.commands),
    ...(plan === null || plan === undefined ? [] : [planCheck(plan)]),
  ];
}

function planCheck({ file }: PlanPolicy): Check {
  const word = /^[\w./-]+$/.test(file) ? file : `'${file.replaceAll("'", String.raw`'\''`)}'`;
  return { command: `ralph plan check ${word}`, action: 'APPEND', hint: null, plan: true };
}

/** Undefined if the settings do not change it. The validator refuses a file outside of the workspace. */
function planFrom({ plan }: Settings, workspace: string): PlanPolicy | null | undefined {
  if (plan === undefined) return undefined;
  return plan === false ? null : { file: relative(workspace, resolve(workspace, plan)) };
}

/** In the order in which `detectors` adds them. */
const DETECTOR_SETTINGS = [
  'completionPromise',
  'completionResponse',
  'completionTag',
  'donePattern',
] as const;

/** Undefined if the settings do not change it. */
function hostFrom({ interactive }: Settings): Policy['host'] | undefined {
  return interactive === true ? 'tmux' : undefined;
}

/** The detectors for the host: an agent in a terminal says everything on its screen, and does not exit when it is done. */
function detectorsOn(settings: Settings, base: Policy, workspace: string): readonly Detector[] | undefined {
  const given = detectors(settings, base, workspace);
  if (settings.interactive !== true) return given;
  return (given ?? base.completion.detectors).map(onScreen);
}

function onScreen(detector: Detector): Detector {
  if (!('scope' in detector)) return detector;
  const source = { scope: 'screen', phase: 'continuous' } as const;
  return 'placement' in detector
    ? { ...detector, ...source, placement: 'anywhere' }
    : { ...detector, ...source };
}

/** Given words replace the preset's words; a given file replaces its marker file. */
function detectors(settings: Settings, base: Policy, workspace: string): readonly Detector[] | undefined {
  const source = { scope: 'assistant-text', phase: 'after', history: 'loop' } as const;
  // A given tag is matched the way the preset matches its own.
  const tags = base.completion.detectors.filter((detector) => 'placement' in detector);
  const placement = tags[0]?.placement ?? 'anywhere';
  const { completionResponse, completionPromise, completionTag, donePattern, doneFile } = settings;
  const given: Detector[] = [];
  if (completionPromise !== undefined)
    given.push({ kind: 'promise-tag', value: completionPromise, placement, ...source });
  if (completionResponse !== undefined) {
    const like = base.completion.detectors.find(({ kind }) => kind === 'response-tag');
    given.push({
      kind: 'response-tag',
      placement,
      ...source,
      ...(like !== undefined && 'scope' in like ? { scope: like.scope } : {}),
      value: unwrapped(completionResponse),
    });
  }
  if (completionTag !== undefined) {
    given.push({ kind: 'word', value: completionTag, within: 'word', ...source, scope: 'final-answer' });
  }
  if (donePattern !== undefined) given.push({ kind: 'pattern', pattern: donePattern, ...source });
  const [only] = given;
  // In a preset that accepts either tag, one word applies to both.
  if (tags.length > 1 && given.length === 1 && only !== undefined && 'placement' in only) {
    given.push({ ...only, kind: only.kind === 'promise-tag' ? 'response-tag' : 'promise-tag' });
  }
  if (given.length === 0 && doneFile === undefined) return undefined;
  const words = base.completion.detectors.filter((detector) => 'scope' in detector);
  const signs = base.completion.detectors.filter((detector) => !('scope' in detector));
  const file = doneFile === undefined ? null : isAbsolute(doneFile) ? doneFile : resolve(workspace, doneFile);
  const marker: Detector[] = file === null ? [] : [{ kind: 'marker', file, phases: ['before', 'after'] }];
  return [
    ...(given.length === 0 ? words : given),
    ...(file === null ? signs : [...signs.filter(({ kind }) => kind !== 'marker'), ...marker]),
  ];
}

/** Accepts the whole tag instead of its content. */
function unwrapped(response: string): string {
  return /^\s*<response>(.*)<\/response>\s*$/i.exec(response)?.[1]?.trim() ?? response;
}

/** Undefined if the settings do not change them. */
function sections(
  { includeIterationCountInPrompt: withCount, maxUnchanged = 0 }: Settings,
  { prompt }: Policy,
): Policy['prompt']['sections'] | undefined {
  const nudge = maxUnchanged > 0 && !prompt.sections.includes('nudge') ? (['nudge'] as const) : [];
  if (withCount === undefined && nudge.length === 0) return undefined;
  const isCounted = withCount ?? prompt.sections.includes('iteration-count');
  const others = prompt.sections.filter((name) => name !== 'iteration-count');
  // The last section is prepended last, which puts the count first in the prompt.
  return [...others, ...nudge, ...(isCounted ? (['iteration-count'] as const) : [])];
}

/** The agent is nudged two iterations before the end; a limit of 0 means unlimited. */
export function unchangedLimit(end: number | undefined): Policy['limits']['unchanged'] | undefined {
  if (end === undefined) return undefined;
  return end === 0 ? null : { nudge: end === 1 ? null : Math.max(1, end - 2), end };
}

const TASK_MS = 600_000;

/** Without commits the branch of a worktree would have nothing to merge. */
const PLAIN_COMMIT: CommitPolicy = {
  command: 'git',
  tasks: ['commit'],
  message: 'plain',
  timeoutMs: TASK_MS,
};

function milliseconds(setting: string, value: Time | undefined): number | undefined {
  return value === undefined ? undefined : parseDuration(setting, String(value));
}

function time(ms: number | null): string | null {
  return ms === null ? null : durationText(ms);
}
