/**
 * The texts that the documents prescribe, by preset. They stand apart from the presets, so that a journal of a version
 * without them can be completed without loading every preset.
 */
import type { Policy, PresetName, WordingPolicy } from './policy.ts';

const OURS: WordingPolicy = {
  iterationLimitReason: null,
  iterationLimitLine: null,
  fatalRunLine: null,
  waitLine: null,
  signalLine: null,
  pauseLine: null,
  resumeLine: null,
  alreadyPausedLine: null,
  notPausedLine: null,
  checkStartLine: null,
  checkExitLine: null,
  showFailAction: false,
};

export const wordings: Readonly<Record<PresetName, WordingPolicy>> = {
  default: OURS,
  conductor: {
    ...OURS,
    iterationLimitReason: 'max restarts exceeded',
    fatalRunLine: 'Fatal error: {reason}',
    waitLine: 'Wait-without-restart signal detected',
  },
  'ralph-cli': {
    ...OURS,
    iterationLimitReason: 'Maximum iterations reached without completion response.',
    signalLine: 'Received signal, shutting down...',
    checkStartLine: 'Running guardrail: {command}',
    checkExitLine: 'Guardrail exited with code {code} ({seconds})',
    showFailAction: true,
  },
  architect: OURS,
  swarm: {
    ...OURS,
    iterationLimitLine: 'loop complete after {iterations} iterations',
    pauseLine: 'paused ralph loop for {name}',
    resumeLine: 'resumed ralph loop for {name}',
    alreadyPausedLine: "worker '{name}' is already paused",
    notPausedLine: "worker '{name}' is not paused",
  },
  promise: OURS,
};

/** A policy with the wording of its preset, where a journal of an earlier version lacks all or some of it. */
export function withWording(policy: Policy): Policy {
  const written: Partial<WordingPolicy> | undefined = policy.wording;
  if (written !== undefined && Object.keys(OURS).every((text) => text in written)) return policy;
  // A later version may know more presets.
  const known: WordingPolicy | undefined = wordings[policy.preset];
  return { ...policy, wording: { ...(known ?? OURS), ...written } };
}
