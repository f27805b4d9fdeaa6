/** The settings and the policy of a loop inside a session. */
import { effective } from '../config/effective.ts';
import type { Settings } from '../config/config.ts';
import { readSettings } from '../config/read.ts';
import { parseDuration } from '../config/values.ts';
import type { Policy } from '../loop/policy.ts';
import { NeedsTrust, trustOf } from '../store/trust-of.ts';
import { visible } from '../text/one-line.ts';
import type { RalphArguments } from './arguments.ts';

export interface SessionPolicy {
  readonly policy: Policy;
  /** What the person should know about settings that do not apply here. */
  readonly notes: readonly string[];
}

/** The policy for a task, from the trusted settings of the workspace and what was asked for; throws a `UserError`. */
export async function sessionPolicy(
  workspace: string,
  asked: RalphArguments,
  delayMs: number,
): Promise<SessionPolicy> {
  const files = await readSettings(workspace);
  const trust = trustOf(files, workspace);
  if (!trust.isTrusted) throw new NeedsTrust(trust);
  const { policy, notes } = effective(files, flagsFor(asked), workspace);
  const ignored = [
    ...(policy.sandbox === null ? [] : ['sandbox']),
    ...(files.merged.worktree === true ? ['worktree'] : []),
  ];
  const ignoredNote = `the setting ${ignored.join(' and ')} does not apply to a loop inside a session; use ralph run for it`;
  return {
    policy: inSession(asked.strict === true ? strictly(policy) : policy, delayMs),
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
    ...(maxIterations === undefined ? {} : { maxIterations }),
    ...(completionPromise === undefined ? {} : { completionPromise }),
    ...(checks.length === 0 ? {} : { checks: checks.map((command) => ({ command })) }),
    ...(maxTime === undefined ? {} : { maxTime }),
    ...(maxCost === undefined ? {} : { maxCost }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
  };
}
