/** What was given on the command line, as the policy that it means. */
import { isAbsolute, resolve } from 'node:path';
import { describeProblem, presets, resolvePolicy } from '../index.ts';
import type { Detector, Policy, PolicyInput } from '../index.ts';
import { UserError } from '../user-error.ts';
import { parseAmount, parseDuration, parseSize, parseWhole } from './values.ts';

export interface ViewOptions {
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  readonly json?: boolean;
  readonly streamAgentOutput?: boolean;
  readonly emoji?: boolean;
  readonly timestamps?: boolean;
  readonly outputLines?: string;
  readonly outputChars?: string;
}

export interface LimitOptions extends ViewOptions {
  readonly cwd?: string;
  readonly maxIterations?: string;
  readonly maximumIterations?: string;
  readonly maxTime?: string;
  readonly maxFailures?: string;
  readonly maxCost?: string;
  readonly maxTokens?: string;
  readonly maxOutput?: string;
  readonly iterationTimeout?: string;
  readonly inactivityTimeout?: string;
  readonly restartDelay?: string;
  readonly killGrace?: string;
}

export interface RunOptions extends LimitOptions {
  readonly prompt?: string;
  readonly promptFile?: string;
  readonly name?: string;
  readonly preset?: string;
  readonly agent?: string;
  readonly model?: string;
  readonly env: readonly string[];
  readonly dropEnv: readonly string[];
  readonly promptVia?: string;
  readonly check: readonly string[];
  readonly checkTimeout?: string;
  readonly completionResponse?: string;
  readonly completionPromise?: string;
  readonly completionTag?: string;
  readonly donePattern?: string;
  readonly doneFile?: string;
  readonly until?: string;
  readonly fresh?: boolean;
  readonly owner?: string;
}

/** The policy of a new loop. */
export function policyOf(options: RunOptions, workspace: string): Policy {
  const preset = options.preset ?? 'default';
  const base = Object.values(presets).find(({ policy }) => policy.preset === preset)?.policy ?? null;
  const resolution = resolvePolicy({
    preset,
    ...limitsOf(options, base),
    completion: {
      ...(options.until === undefined ? {} : { until: options.until }),
      ...(base === null ? {} : { detectors: detectorsOf(options, base, workspace) }),
    },
    checks: {
      ...(options.check.length === 0
        ? {}
        : { commands: options.check.map((command) => ({ command, action: 'APPEND', hint: null })) }),
      ...(options.checkTimeout === undefined
        ? {}
        : { timeoutMs: orNone(parseDuration('--check-timeout', options.checkTimeout)) }),
    },
  });
  if (!resolution.ok)
    throw new UserError(
      resolution.problems.map((problem) => describeProblem(inOptions(problem, options))).join('; '),
    );
  return resolution.policy;
}

/** The parts of a policy that the limit options name. */
export function limitsOf(options: LimitOptions, base: Policy | null): PolicyInput {
  const most = options.maxIterations ?? options.maximumIterations;
  const maxTime = time('--max-time', options.maxTime);
  const run = time('--iteration-timeout', options.iterationTimeout);
  const silence = time('--inactivity-timeout', options.inactivityTimeout);
  const delay = time('--restart-delay', options.restartDelay);
  return {
    limits: {
      iterations: most === undefined ? undefined : parseWhole('--max-iterations', most, 0),
      timeMs: maxTime,
      failures:
        options.maxFailures === undefined ? undefined : parseWhole('--max-failures', options.maxFailures, 1),
      costUsd: options.maxCost === undefined ? undefined : parseAmount('--max-cost', options.maxCost),
      tokens: options.maxTokens === undefined ? undefined : parseWhole('--max-tokens', options.maxTokens, 1),
      outputBytes: options.maxOutput === undefined ? undefined : parseSize('--max-output', options.maxOutput),
    },
    timeouts: {
      runMs: run === undefined ? undefined : orNone(run),
      inactivityMs: silence === undefined ? undefined : orNone(silence),
      killGraceMs: time('--kill-grace', options.killGrace),
    },
    delay: {
      afterOkMs: delay,
      ...(delay !== undefined && base?.delay.afterFailure.kind === 'fixed'
        ? { afterFailure: { kind: 'fixed', ms: delay } }
        : {}),
    },
  };
}

function time(option: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseDuration(option, text);
}

/** Nothing is as good as no limit. */
function orNone(ms: number): number | null {
  return ms === 0 ? null : ms;
}

/** Words that were given take the place of the preset's; a file that was given takes the place of its file. */
function detectorsOf(options: RunOptions, base: Policy, workspace: string): readonly Detector[] {
  const source = { scope: 'assistant-text', phase: 'after', history: 'loop' } as const;
  const placement = base.preset === 'default' ? 'own-line' : 'anywhere';
  const { completionResponse, completionPromise, completionTag, donePattern, doneFile } = options;
  const given: Detector[] = [];
  if (completionPromise !== undefined)
    given.push({ kind: 'promise-tag', value: completionPromise, placement, ...source });
  if (completionResponse !== undefined)
    given.push({ kind: 'response-tag', value: completionResponse, placement, ...source });
  if (completionTag !== undefined) {
    const within = base.preset === 'architect' ? 'substring' : 'word';
    given.push({ kind: 'word', value: completionTag, within, ...source, scope: 'final-answer' });
  }
  if (donePattern !== undefined) given.push({ kind: 'pattern', pattern: donePattern, ...source });
  const words = base.completion.detectors.filter((detector) => 'scope' in detector);
  const signs = base.completion.detectors.filter((detector) => !('scope' in detector));
  const file = doneFile === undefined ? null : isAbsolute(doneFile) ? doneFile : resolve(workspace, doneFile);
  const marker: Detector[] = file === null ? [] : [{ kind: 'marker', file, phases: ['before', 'after'] }];
  return [
    ...(given.length === 0 ? words : given),
    ...(file === null ? signs : [...signs.filter(({ kind }) => kind !== 'marker'), ...marker]),
  ];
}

/** A problem by the name of the option that it came in with. */
type Problem = Parameters<typeof describeProblem>[0];
export function inOptions(problem: Problem, options: Partial<RunOptions>): Problem {
  const { field } = problem;
  const words = [
    options.completionPromise === undefined ? [] : ['--completion-promise'],
    options.completionResponse === undefined ? [] : ['--completion-response'],
    options.completionTag === undefined ? [] : ['--completion-tag'],
    options.donePattern === undefined ? [] : ['--done-pattern'],
  ].flat();
  const detector = /^completion\.detectors\[(\d+)\]/.exec(field)?.[1];
  const option =
    OPTIONS[field] ??
    (field.startsWith('checks.commands') ? '--check' : undefined) ??
    (detector === undefined ? undefined : words[Number(detector)]);
  return option === undefined ? problem : { ...problem, field: option };
}

const OPTIONS: Readonly<Record<string, string>> = {
  preset: '--preset',
  'completion.until': '--until',
  'limits.iterations': '--max-iterations',
  'limits.timeMs': '--max-time',
  'limits.failures': '--max-failures',
  'limits.costUsd': '--max-cost',
  'limits.tokens': '--max-tokens',
  'limits.outputBytes': '--max-output',
};
