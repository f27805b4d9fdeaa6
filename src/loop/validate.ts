/** Builds a policy from a preset and the user's changes, and validates it. Every policy passes through here. */
import { globProblem } from './glob.ts';
import { splitWords } from './words.ts';
import { PHASES, PLACEMENTS, SCOPES } from './completion.ts';
import { EXIT_CODES } from './outcome.ts';
import {
  AFTER_FAILURE,
  COMMIT_MESSAGES,
  FAIL_ACTIONS,
  HOSTS,
  INACTIVITY_OF,
  POSTS,
  ON_PROTECTED_CHANGE,
  PROMPT_FILE_WATCHES,
  PRESET_NAMES,
  SECTION_NAMES,
  SIGNAL_ACTIONS,
  UNTILS,
  type LimitsPolicy,
  type Policy,
  type PresetName,
} from './policy.ts';
import { presets } from './presets.ts';
import { translatePattern } from './python-pattern.ts';
import {
  flag,
  isRecord,
  list,
  nonBlank,
  nonEmptyList,
  nullable,
  object,
  oneOf,
  optional,
  rule,
  show,
  string,
  variant,
  whole,
} from './shape.ts';
import type { Problem, Rule } from './shape.ts';

export { describeProblem } from './shape.ts';

/** A preset with the given changes and then others, or everything that is wrong with them. */
export function resolvePolicy(input: PolicyInput, more: PolicyInput = {}): PolicyResolution {
  const preset = input.preset ?? 'default';
  if (!isPreset(preset)) {
    return {
      ok: false,
      problems: [{ field: 'preset', expected: `one of ${PRESET_NAMES.join(', ')}`, got: show(preset) }],
    };
  }
  const merged = merge(presets[preset].policy, { ...input, preset });
  const completed = withUntil(merged, input);
  return examine(merge(completed, more));
}

/** A policy with the given changes, not validated. */
export function mergePolicy(policy: Policy, change: PolicyInput): Policy {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the caller validates it with `findProblems`
  return merge(policy, change) as Policy;
}

/** Everything that is wrong with a policy. */
export function findProblems(candidate: unknown): readonly Problem[] {
  const resolution = examine(candidate);
  return resolution.ok ? [] : resolution.problems;
}

/** Changes to a preset; `undefined` changes nothing. */
export type PolicyInput = { readonly preset?: string | undefined } & {
  readonly [Key in Exclude<keyof Policy, 'preset'>]?: unknown;
};

export type PolicyResolution =
  | { readonly ok: true; readonly policy: Policy }
  | { readonly ok: false; readonly problems: readonly Problem[] };

function isPreset(name: unknown): name is PresetName {
  return PRESET_NAMES.some((known) => known === name);
}

/** Objects merge, everything else replaces; an object with a `kind` replaces too, since its other fields depend on it. */
function merge(base: unknown, change: unknown): unknown {
  if (change === undefined) return base;
  if (!isRecord(base) || !isRecord(change) || 'kind' in change) return change;
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(change)) merged[key] = merge(base[key], value);
  return merged;
}

/** Sets `until` if the user did not: `both` for a loop with checks, `checks` if it has no detector; else unchanged. */
function withUntil(policy: unknown, input: PolicyInput): unknown {
  const stated = isRecord(input.completion) ? input.completion['until'] : undefined;
  if (
    stated !== undefined ||
    !isRecord(policy) ||
    !isRecord(policy['completion']) ||
    !isRecord(policy['checks'])
  )
    return policy;
  const { commands } = policy['checks'];
  const hasChecks = Array.isArray(commands) && commands.length > 0;
  if (!hasChecks) return policy;
  const { detectors } = policy['completion'];
  const until = Array.isArray(detectors) && detectors.length === 0 ? 'checks' : 'both';
  return { ...policy, completion: { ...policy['completion'], until } };
}

function examine(candidate: unknown): PolicyResolution {
  const misshapen = POLICY(candidate, '');
  if (misshapen.length > 0) return { ok: false, problems: misshapen };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rules below check every field of the type
  const policy = candidate as Policy;
  const problems = contradictions(policy);
  return problems.length === 0 ? { ok: true, policy } : { ok: false, problems };
}

/** Problems that concern several fields. */
function contradictions(policy: Policy): readonly Problem[] {
  const { limits, checks, completion, preset } = policy;
  const { least, most, required } = presets[preset].iterations;
  const problems: Problem[] = [];
  const wrong = (field: string, expected: string, got: unknown): number =>
    problems.push({ field, expected, got: show(got) });

  const tooMany = limits.iterations !== null && most !== null && limits.iterations > most;
  if (tooMany || (limits.iterations !== null && limits.iterations < least)) {
    wrong(
      'limits.iterations',
      `a whole number >= ${least}${most === null ? '' : ` and <= ${most}`}`,
      limits.iterations,
    );
  }
  if (required && limits.iterations === null) {
    wrong('limits.iterations', `a whole number >= ${least} (preset ${preset} has no default)`, undefined);
  }
  const nudge = limits.unchanged?.nudge ?? null;
  if (limits.unchanged !== null && nudge !== null && limits.unchanged.end <= nudge) {
    wrong('limits.unchanged.end', `more than limits.unchanged.nudge (${nudge})`, limits.unchanged.end);
  }
  if (checks.commands.length === 0 && (checks.required || completion.until === 'checks')) {
    wrong(
      'checks.commands',
      `at least one shell command, such as "npm test" (${checks.required ? `preset ${preset} ends only when its checks pass` : 'until is "checks"'})`,
      undefined,
    );
  }
  if (policy.host === 'tmux' && policy.sandbox !== null)
    wrong('sandbox', 'no sandbox for an interactive agent', 'a sandbox');
  if (policy.host === 'tmux' && policy.commit?.message === 'agent')
    wrong('commit.message', '"plain" for an interactive agent', 'agent');
  const { protect, onProtectedChange } = policy.evidence;
  if (protect.length === 0 && onProtectedChange !== 'warn') {
    wrong(
      'evidence.protect',
      `a list of at least one glob (onProtectedChange is "${onProtectedChange}")`,
      [],
    );
  }
  if (policy.plan === null && checks.commands.some((check) => check.plan === true))
    wrong('plan', 'a plan for the check of the plan', null);
  return problems;
}

const ms = whole(0);
const limitMs = nullable(whole(1));
const amount = rule(
  'a number > 0',
  (value) => typeof value === 'number' && Number.isFinite(value) && value > 0,
);
const exitCode = rule(
  'an exit code from 0 to 255',
  (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 256,
);
const tagValue = rule(
  'a single line of 1 to 1000 characters without surrounding whitespace',
  (value) => typeof value === 'string' && /^\S(?:.{0,998}\S)?$/.test(value),
);
const words = rule('a non-empty command with balanced quotes', (value) => {
  return typeof value === 'string' && (splitWords(value)?.length ?? 0) > 0;
});
const pythonPattern: Rule = (value, field) => {
  const expected = "a regular expression in Python's syntax";
  if (typeof value !== 'string' || value === '') return [{ field, expected, got: show(value) }];
  const translation = translatePattern(value);
  if (translation.ok) return [];
  return [
    { field, expected, got: `${show(value)}: ${translation.message} at position ${translation.position}` },
  ];
};
const glob: Rule = (value, field) => {
  const expected = 'a glob relative to the workspace, such as test/**';
  if (typeof value !== 'string') return [{ field, expected, got: show(value) }];
  const problem = globProblem(value);
  return problem === null ? [] : [{ field, expected, got: `${show(value)}: ${problem}` }];
};
const insidePath = rule(
  'a file inside the workspace',
  (value) =>
    typeof value === 'string' &&
    !value.includes('\0') &&
    value.split('/').every((part) => part !== '' && part !== '.' && part !== '..'),
);
const isTrue = rule('true', (value) => value === true);
const cutAt = { chars: nullable(whole(1)), marker: string };
const excerpt = object({ side: oneOf(['head', 'tail']), ...cutAt });
const checkExcerpt = object({ side: oneOf(['head', 'tail', 'failures']), ...cutAt });
const source = {
  scope: oneOf(SCOPES),
  phase: oneOf(['after', 'continuous']),
  history: oneOf(['loop', 'session']),
};
const kind = string;
const tag = object({ kind, value: tagValue, placement: oneOf(PLACEMENTS), ...source });
const phases = nonEmptyList(oneOf(PHASES));

const detector = variant('kind', {
  'response-tag': tag,
  'promise-tag': tag,
  word: object({ kind, value: tagValue, within: oneOf(['word', 'substring']), ...source }),
  pattern: object({ kind, pattern: pythonPattern, ...source }),
  marker: object({ kind, file: nonBlank, phases }),
  'exit-code': object({ kind, code: exitCode }),
  'bus-message': object({ kind, message: nonBlank, phases }),
});

/** The limits that a running loop accepts from outside: those of `ralph set`. */
export const CHANGEABLE_LIMITS: Readonly<Record<ChangeableLimit, Rule>> = {
  iterations: nullable(whole(1)),
  timeMs: limitMs,
  costUsd: nullable(amount),
  tokens: nullable(whole(1)),
  failures: nullable(whole(1)),
  limitWaits: nullable(whole(0)),
  attemptsPerItem: nullable(whole(1)),
  outputBytes: nullable(whole(1)),
  unchanged: nullable(object({ nudge: nullable(whole(1)), end: whole(1) })),
};
type ChangeableLimit = Exclude<
  keyof LimitsPolicy,
  'unchangedNotice' | 'repeats' | 'lookedAt' | 'stopRunning'
>;

const POLICY = object({
  preset: oneOf(PRESET_NAMES),
  host: oneOf(HOSTS),
  keys: oneOf(['all', 'own']),
  calls: oneOf(['autonomous', 'documented']),
  aliases: flag,
  progressLink: flag,
  taskFolder: flag,
  sandbox: nullable(object({ checks: flag, write: list(nonBlank), hide: list(nonBlank), network: flag })),
  completion: object({
    until: oneOf(UNTILS),
    detectors: list(detector),
    afterFailure: oneOf(AFTER_FAILURE),
    staleMarkers: oneOf(['move-aside', 'claim']),
    handOver: object({
      exitCode: nullable(exitCode),
      marker: nullable(nonBlank),
      busMessage: nullable(nonBlank),
    }),
  }),
  checks: object({
    commands: list(
      object({
        command: nonBlank,
        action: oneOf(FAIL_ACTIONS),
        hint: nullable(string),
        plan: optional(isTrue),
      }),
    ),
    timeoutMs: limitMs,
    excerpt: checkExcerpt,
    required: flag,
    baseline: flag,
  }),
  plan: nullable(object({ file: insidePath })),
  evidence: object({
    protect: list(glob),
    onProtectedChange: oneOf(ON_PROTECTED_CHANGE),
    promptFile: oneOf(PROMPT_FILE_WATCHES),
  }),
  limits: object({
    ...CHANGEABLE_LIMITS,
    // Some presets allow no iteration at all.
    iterations: nullable(whole(0)),
    unchangedNotice: nullable(whole(1)),
    repeats: nullable(whole(1)),
    lookedAt: oneOf(['after-iteration', 'before-next']),
    stopRunning: flag,
  }),
  timeouts: object({
    runMs: limitMs,
    inactivityMs: limitMs,
    inactivityOf: oneOf(INACTIVITY_OF),
    inactivityIs: oneOf(['failure', 'restart']),
    killGraceMs: ms,
    readyMs: ms,
  }),
  delay: object({
    afterOkMs: ms,
    afterFailure: variant('kind', { fixed: object({ kind, ms }), backoff: object({ kind, capMs: ms }) }),
    usageLimitLadderMs: nonEmptyList(whole(1)),
  }),
  prompt: object({
    sections: nonEmptyList(oneOf(SECTION_NAMES)),
    diff: excerpt,
    continuation: nullable(nonBlank),
  }),
  commit: nullable(
    object({ command: words, tasks: list(words), message: oneOf(COMMIT_MESSAGES), timeoutMs: limitMs }),
  ),
  commitMessage: oneOf(['paragraphs', 'first-line']),
  worktree: object({ path: nonBlank, branch: nonBlank, setup: list(nonBlank), setupTimeoutMs: limitMs }),
  keepAwake: flag,
  checkpoint: flag,
  checkpointMaxFile: nullable(whole(1)),
  checkpointMaxTotal: nullable(whole(1)),
  children: nullable(object({ waitMs: whole(1), pollMs: whole(1) })),
  childLimits: object({ maxDepth: whole(0), maxActive: whole(0) }),
  stateEdits: flag,
  posts: oneOf(POSTS),
  signals: object({ SIGINT: oneOf(SIGNAL_ACTIONS), SIGTERM: oneOf(SIGNAL_ACTIONS) }),
  wording: object({
    iterationLimitReason: nullable(nonBlank),
    iterationLimitLine: nullable(nonBlank),
    fatalRunLine: nullable(nonBlank),
    failedRunLine: nullable(nonBlank),
    transientRunLine: nullable(nonBlank),
    timedOutRunLines: list(nonBlank),
    okRunLine: nullable(nonBlank),
    restartLines: list(nonBlank),
    restartAfterTimeoutLines: list(nonBlank),
    datedStamps: flag,
    waitLine: nullable(nonBlank),
    signalLine: nullable(nonBlank),
    pauseLine: nullable(nonBlank),
    resumeLine: nullable(nonBlank),
    alreadyPausedLine: nullable(nonBlank),
    notPausedLine: nullable(nonBlank),
    exitedLine: nullable(nonBlank),
    checkStartLine: nullable(nonBlank),
    checkExitLine: nullable(nonBlank),
    runEndWord: nullable(nonBlank),
    showFailAction: flag,
    showStopReason: flag,
  }),
  exitCodes: object(Object.fromEntries(Object.keys(EXIT_CODES).map((rest) => [rest, exitCode]))),
});
