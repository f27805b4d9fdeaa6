/** Turns settings into a policy, and a policy back into settings for `ralph config`. */
import { isAbsolute, relative, resolve } from 'node:path';
import type { Detector } from '../loop/completion.ts';
import type { Check, CommitPolicy, PlanPolicy, Policy } from '../loop/policy.ts';
import type { PolicyInput } from '../loop/validate.ts';
import type { Settings, Size, Time } from './settings.ts';
import { sandboxPolicy } from './sandbox.ts';
import { parseDuration, parseSize } from './values.ts';
import { durationText } from '../loop/counted.ts';

/** What the settings change in a policy. */
export function policyInput(settings: Settings, base: Policy, workspace: string): PolicyInput {
  const { checks, outputTruncateChars, scm } = settings;
  const plan = planFrom(settings, workspace);
  const delay = milliseconds('restartDelay', settings.restartDelay);
  return {
    host: hostFrom(settings),
    limits: {
      iterations: settings.maxIterations,
      timeMs: milliseconds('maxTime', settings.maxTime),
      failures: settings.maxFailures,
      limitWaits: settings.maxLimitWaits,
      attemptsPerItem: settings.maxAttemptsPerItem,
      unchanged: unchangedLimit(settings.maxUnchanged),
      repeats: nullIfZero(settings.maxRepeats),
      costUsd: settings.maxCost,
      tokens: settings.maxTokens,
      outputBytes: bytes('maxOutput', settings.maxOutput),
    },
    timeouts: {
      runMs: nullIfZero(milliseconds('iterationTimeout', settings.iterationTimeout)),
      inactivityMs: nullIfZero(milliseconds('inactivityTimeout', settings.inactivityTimeout)),
      killGraceMs: milliseconds('killGrace', settings.killGrace),
      readyMs: milliseconds('readyTimeout', settings.readyTimeout),
      ...(settings.interactive === true ? { inactivityOf: 'screen', inactivityIs: 'restart' } : {}),
    },
    delay: {
      afterOkMs: delay,
      ...(delay !== undefined && base.delay.afterFailure.kind === 'fixed'
        ? { afterFailure: { kind: 'fixed', ms: delay } }
        : {}),
    },
    completion: { until: settings.until, detectors: detectorsOn(settings, base, workspace) },
    checks: {
      commands: commands(checks, plan, base),
      timeoutMs: nullIfZero(milliseconds('checkTimeout', settings.checkTimeout)),
      excerpt: { chars: outputTruncateChars },
      baseline: settings.baseline,
    },
    plan,
    evidence: { protect: settings.protect, onProtectedChange: settings.onProtectedChange },
    prompt: { sections: sections(settings, base) },
    keepAwake: settings.keepAwake,
    checkpointMaxFile: bytes('checkpointMaxFile', settings.checkpointMaxFile),
    checkpointMaxTotal: bytes('checkpointMaxTotal', settings.checkpointMaxTotal),
    sandbox: settings.sandbox === undefined ? undefined : sandboxPolicy(settings.sandbox),
    children: waitForChildren(settings, base),
    childLimits: settings.children,
    worktree: {
      setup: settings.setup,
      setupTimeoutMs: nullIfZero(milliseconds('setupTimeout', settings.setupTimeout)),
    },
    ...(settings.worktree === true && scm?.tasks === undefined ? { commit: PLAIN_COMMIT } : {}),
    ...(scm === undefined || (scm.tasks ?? []).length === 0
      ? {}
      : {
          commit: {
            command: scm.command,
            tasks: scm.tasks,
            // An agent in a terminal has no answer that could be read.
            message: settings.interactive === true ? 'plain' : 'agent',
            timeoutMs:
              scm.timeout === undefined ? TASK_MS : nullIfZero(milliseconds('scm.timeout', scm.timeout)),
          },
        }),
  };
}

/** A policy as settings; null for none. */
export function settingsOf({
  completion,
  checks,
  limits,
  timeouts,
  delay,
  prompt,
  ...policy
}: Policy): Shown {
  const wordOf = (kind: string): string | null => {
    for (const detector of completion.detectors)
      if (detector.kind === kind && 'value' in detector) return detector.value;
    return null;
  };
  const { commit } = policy;
  return {
    preset: policy.preset,
    maxIterations: limits.iterations,
    maxTime: time(limits.timeMs),
    maxFailures: limits.failures,
    maxLimitWaits: limits.limitWaits,
    maxAttemptsPerItem: limits.attemptsPerItem,
    maxUnchanged: limits.unchanged?.end ?? null,
    maxRepeats: limits.repeats,
    maxCost: limits.costUsd,
    maxTokens: limits.tokens,
    maxOutput: limits.outputBytes,
    iterationTimeout: time(timeouts.runMs),
    inactivityTimeout: time(timeouts.inactivityMs),
    restartDelay: time(delay.afterOkMs),
    killGrace: time(timeouts.killGraceMs),
    childWait: time(policy.children?.waitMs ?? 0),
    pollInterval: time(policy.children?.pollMs ?? null),
    interactive: policy.host === 'tmux',
    readyTimeout: time(timeouts.readyMs),
    keepAwake: policy.keepAwake,
    checkpointMaxFile: policy.checkpointMaxFile,
    checkpointMaxTotal: policy.checkpointMaxTotal,
    completionResponse: wordOf('response-tag'),
    completionPromise: wordOf('promise-tag'),
    completionTag: wordOf('word'),
    donePattern: completion.detectors.find((detector) => detector.kind === 'pattern')?.pattern ?? null,
    doneFile: completion.detectors.find((detector) => detector.kind === 'marker')?.file ?? null,
    until: completion.until,
    checks: checks.commands.flatMap(({ command, action, hint, plan }) =>
      plan === true ? [] : [{ command, failAction: action, ...(hint === null ? {} : { hint }) }],
    ),
    checkTimeout: time(checks.timeoutMs),
    baseline: checks.baseline,
    plan: policy.plan?.file ?? null,
    protect: policy.evidence.protect,
    onProtectedChange: policy.evidence.onProtectedChange,
    outputTruncateChars: checks.excerpt.chars,
    includeIterationCountInPrompt: prompt.sections.includes('iteration-count'),
    'scm.command': commit?.command ?? null,
    'scm.tasks': commit?.tasks ?? [],
    'scm.timeout': time(commit === null ? null : commit.timeoutMs),
    sandbox: policy.sandbox !== null,
    'sandbox.checks': policy.sandbox?.checks ?? null,
    'sandbox.write': policy.sandbox?.write ?? null,
    'sandbox.hide': policy.sandbox?.hide ?? null,
    'sandbox.network': policy.sandbox?.network ?? null,
    'children.maxDepth': policy.childLimits.maxDepth,
    'children.maxActive': policy.childLimits.maxActive,
    setup: policy.worktree.setup,
    setupTimeout: time(policy.worktree.setupTimeoutMs),
  };
}

export type Shown = Readonly<Record<string, unknown>>;

/** The setting that sets a field of the policy; null if there is none. */
export function settingOf(field: string, settings: Settings): string | null {
  const detector = /^completion\.detectors\[(\d+)\]/.exec(field)?.[1];
  if (detector !== undefined)
    return DETECTOR_SETTINGS.filter((key) => settings[key] !== undefined)[Number(detector)] ?? null;
  if (field.startsWith('checks.commands'))
    return field.replace('checks.commands', 'checks').replace(/\.action$/, '.failAction');
  if (field.startsWith('evidence.')) return field.slice('evidence.'.length);
  if (field.startsWith('commit.tasks')) return field.replace('commit', 'scm');
  if (field.startsWith('sandbox')) return field;
  if (field.startsWith('childLimits')) return field.replace('childLimits', 'children');
  return FIELDS[field] ?? null;
}

const FIELDS: Readonly<Record<string, string>> = {
  preset: 'preset',
  'plan.file': 'plan',
  'completion.until': 'until',
  'limits.iterations': 'maxIterations',
  'limits.timeMs': 'maxTime',
  'limits.failures': 'maxFailures',
  'limits.limitWaits': 'maxLimitWaits',
  'limits.attemptsPerItem': 'maxAttemptsPerItem',
  'limits.unchanged.end': 'maxUnchanged',
  'limits.repeats': 'maxRepeats',
  'limits.costUsd': 'maxCost',
  'limits.tokens': 'maxTokens',
  'limits.outputBytes': 'maxOutput',
  'timeouts.runMs': 'iterationTimeout',
  'timeouts.inactivityMs': 'inactivityTimeout',
  'timeouts.killGraceMs': 'killGrace',
  'timeouts.readyMs': 'readyTimeout',
  'children.waitMs': 'childWait',
  'children.pollMs': 'pollInterval',
  keepAwake: 'keepAwake',
  checkpointMaxFile: 'checkpointMaxFile',
  checkpointMaxTotal: 'checkpointMaxTotal',
  'delay.afterOkMs': 'restartDelay',
  'delay.afterFailure.ms': 'restartDelay',
  'checks.timeoutMs': 'checkTimeout',
  'checks.excerpt.chars': 'outputTruncateChars',
  'commit.command': 'scm.command',
  'commit.timeoutMs': 'scm.timeout',
};

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

function bytes(setting: string, value: Size | undefined): number | undefined {
  return value === undefined ? undefined : parseSize(setting, String(value));
}

/** A timeout of 0 means unlimited. */
function nullIfZero(ms: number | undefined): number | null | undefined {
  return ms === 0 ? null : ms;
}

function time(ms: number | null): string | null {
  return ms === null ? null : durationText(ms);
}
