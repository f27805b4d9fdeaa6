import { DEFAULT_POLICY } from './default-policy.ts';
import type {
  DelayPolicy,
  EvidencePolicy,
  LimitsPolicy,
  Policy,
  TimeoutsPolicy,
  WordingPolicy,
} from './policy.ts';
import { EXIT_CODES, type ExitCodes } from './outcome.ts';
import { presets, type Preset } from './presets.ts';
import { OURS, wordings } from './wording.ts';

/** A policy as this version writes it, where a journal of an earlier version lacks a part or has one that is gone. */
export function upgraded(policy: Policy): Policy {
  return STEPS.reduce((written, step) => step(written), policy);
}

/** Earlier versions had no plans. */
function withPlan(policy: Policy): Policy {
  const { plan }: Partial<Policy> = policy;
  return plan === undefined ? { ...policy, plan: null } : policy;
}

/** Earlier versions had no texts of documents in the policy, or fewer. */
function withWording(policy: Policy): Policy {
  const written: Partial<WordingPolicy> | undefined = policy.wording;
  if (written !== undefined && Object.keys(OURS).every((text) => text in written)) return policy;
  // A later version may know more presets.
  const known: WordingPolicy | undefined = wordings[policy.preset];
  return { ...policy, wording: { ...(known ?? OURS), ...written } };
}

/** Earlier versions counted an outage as a failure in some presets. */
function withoutOutageIs(policy: Policy): Policy {
  const delay: DelayPolicy & { readonly outageIs?: unknown } = policy.delay;
  if (!('outageIs' in delay)) return policy;
  const { outageIs: _, ...rest } = delay;
  return { ...policy, delay: rest };
}

/** Earlier versions recorded files of any size. */
function withCheckpointMaxFile(policy: Policy): Policy {
  const { checkpointMaxFile } = { ...DEFAULT_POLICY, ...policy };
  return policy.checkpointMaxFile === checkpointMaxFile ? policy : { ...policy, checkpointMaxFile };
}

/** Earlier versions looked at output only, and ran the agents of every host as plain processes. */
function withScreen(policy: Policy): Policy {
  const written: Partial<TimeoutsPolicy> = policy.timeouts;
  if (written.inactivityOf !== undefined) return policy;
  const { inactivityOf, readyMs } = DEFAULT_POLICY.timeouts;
  const host = policy.host === 'tmux' ? 'process' : policy.host;
  return { ...policy, host, timeouts: { ...policy.timeouts, inactivityOf, readyMs } };
}

/** Earlier versions did not limit child loops. */
function withChildLimits(policy: Policy): Policy {
  const { childLimits }: Partial<Policy> = policy;
  return childLimits === undefined ? { ...policy, childLimits: DEFAULT_POLICY.childLimits } : policy;
}

/** Earlier versions wrote no task folder; a loop keeps the desk that it was started with. */
function withTaskFolder(policy: Policy): Policy {
  const { taskFolder }: Partial<Policy> = policy;
  return taskFolder === undefined ? { ...policy, taskFolder: false } : policy;
}

/** Earlier versions posted nothing. */
function withPosts(policy: Policy): Policy {
  const { posts }: Partial<Policy> = policy;
  return posts === undefined ? { ...policy, posts: 'people' } : policy;
}

/** Earlier versions had no sandbox. */
function withSandbox(policy: Policy): Policy {
  const { sandbox }: Partial<Policy> = policy;
  return sandbox === undefined ? { ...policy, sandbox: null } : policy;
}

/** Earlier versions had one exit code for all signals; a loop keeps the codes that it was started with. */
function withExitCodes(policy: Policy): Policy {
  const written: Partial<ExitCodes> = policy.exitCodes;
  if (Object.keys(EXIT_CODES).every((rest) => rest in written)) return policy;
  const terminated = written.terminated ?? policy.exitCodes.stopped;
  return { ...policy, exitCodes: { ...EXIT_CODES, ...written, terminated } };
}

/** Earlier versions watched no evidence, or not the file of the prompt. */
function withEvidence(policy: Policy): Policy {
  const written: Partial<EvidencePolicy> | undefined = policy.evidence;
  if (written?.promptFile !== undefined) return policy;
  // A later version may know more presets.
  const known: Preset | undefined = presets[policy.preset];
  const { evidence } = known?.policy ?? DEFAULT_POLICY;
  return { ...policy, evidence: { ...evidence, ...written } };
}

/** Earlier versions took edits of `state.json` in every preset. */
function withStateEdits(policy: Policy): Policy {
  const written: Partial<Policy> = policy;
  if (written.stateEdits !== undefined) return policy;
  // A later version may know more presets.
  const known: Preset | undefined = presets[policy.preset];
  return { ...policy, stateEdits: known?.policy.stateEdits ?? false };
}

/** Earlier versions did not mention the limit that a loop lacks. */
function withUnchangedNotice(policy: Policy): Policy {
  const { unchangedNotice }: Partial<LimitsPolicy> = policy.limits;
  return unchangedNotice === undefined
    ? { ...policy, limits: { ...policy.limits, unchangedNotice: null } }
    : policy;
}

/** Earlier versions linked no progress file; a loop keeps the files that it was started with. */
function withProgressLink(policy: Policy): Policy {
  const { progressLink }: Partial<Policy> = policy;
  return progressLink === undefined ? { ...policy, progressLink: false } : policy;
}

/** Earlier versions kept the paragraphs in every preset. */
function withCommitMessage(policy: Policy): Policy {
  const { commitMessage }: Partial<Policy> = policy;
  return commitMessage === undefined ? { ...policy, commitMessage: 'paragraphs' } : policy;
}

/** Earlier versions did not look at answers. */
function withRepeats(policy: Policy): Policy {
  const { repeats }: Partial<LimitsPolicy> = policy.limits;
  return repeats === undefined ? { ...policy, limits: { ...policy.limits, repeats: null } } : policy;
}

/** In the order in which the versions brought them. */
const STEPS: readonly ((policy: Policy) => Policy)[] = [
  withWording,
  withoutOutageIs,
  withExitCodes,
  withStateEdits,
  withEvidence,
  withCheckpointMaxFile,
  withSandbox,
  withScreen,
  withChildLimits,
  withTaskFolder,
  withPosts,
  withPlan,
  withUnchangedNotice,
  withProgressLink,
  withCommitMessage,
  withRepeats,
];
