/** What is asked for a loop inside a session. */
import type { Settings } from '../settings/settings.ts';
import { parseDuration } from '../settings/values.ts';
import type { Policy } from '../loop/policy.ts';
import { presets } from '../loop/presets.ts';
import type { LoopRequest } from '../owner/create-loop.ts';
import type { MadeRequest, StartRequest } from '../owner/make-request.ts';
import type { RalphArguments } from './arguments.ts';

/** What is asked for a task. */
export function startOf(workspace: string, asked: RalphArguments): StartRequest {
  return {
    workspace,
    prompt: { text: asked.prompt },
    settings: flagsFor(asked),
    agent: { kind: 'scripted', argv: [] },
  };
}

/** What is different in a session from what the trusted settings of the workspace make of it. */
export function changedInSession(
  { request: { policy, notes = [] }, files }: MadeRequest,
  asked: RalphArguments,
  delayMs: number,
): Pick<LoopRequest, 'policy' | 'place' | 'notes'> {
  const ignored = [
    ...(policy.sandbox === null ? [] : ['sandbox']),
    ...(files.merged.worktree === true ? ['worktree'] : []),
  ];
  const ignoredNote = `the setting ${ignored.join(' and ')} does not apply to a loop inside a session; use ralph run for it`;
  const all = promised(policy);
  return {
    policy: inSession(asked.strict === true ? strictly(all) : all, delayMs),
    place: 'session',
    notes: ignored.length === 0 ? notes : [...notes, ignoredNote],
  };
}

/** The session is not ours: nothing can end its turn, and it can be asked for nothing but the task. */
function inSession(policy: Policy, delayMs: number): Policy {
  const { commit } = policy;
  return {
    ...policy,
    host: 'session',
    sandbox: null,
    commit: commit === null ? null : { ...commit, message: 'plain' },
    children: null,
    limits: { ...policy.limits, stopRunning: false },
    timeouts: { ...policy.timeouts, runMs: null, inactivityMs: null },
    delay: { ...policy.delay, afterOkMs: delayMs, afterFailure: { kind: 'fixed', ms: 0 } },
  };
}

/** The agent is always told a promise, so it counts beside what the settings name instead, such as a `donePattern`. */
function promised(policy: Policy): Policy {
  const { detectors } = policy.completion;
  if (detectors.some(({ kind }) => kind === 'promise-tag')) return policy;
  const { completion } = presets.promise.policy;
  return {
    ...policy,
    completion: { ...policy.completion, detectors: [...completion.detectors, ...detectors] },
  };
}

/** Only a promise on the last line of an answer counts (S5.60). */
function strictly(policy: Policy): Policy {
  const detectors = policy.completion.detectors.map((detector) =>
    'placement' in detector ? { ...detector, placement: 'last-line' as const } : detector,
  );
  return { ...policy, completion: { ...policy.completion, detectors } };
}

function flagsFor(asked: RalphArguments): Settings {
  const { maxIterations, completionPromise, checks, maxTime, maxCost, maxTokens } = asked;
  if (maxTime !== undefined) parseDuration('--max-time', maxTime);
  return {
    preset: 'promise',
    worktree: false,
    maxIterations,
    completionPromise,
    checks: checks.length === 0 ? undefined : checks.map((command) => ({ command })),
    maxTime,
    maxCost,
    maxTokens,
  };
}
