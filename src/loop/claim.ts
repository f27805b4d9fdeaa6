import type { Claim, Detector, Phase } from './completion.ts';
import type { Probe } from './event.ts';
import type { LoopState, Turn } from './state.ts';

/** The claim that lies open: by a marker before the run, or by anything that the run said or left behind. */
export function openClaim({ policy, turn }: LoopState): Claim | null {
  const { detectors, afterFailure } = policy.completion;
  if (turn.run === null) return firstOf(detectors, (detector) => signIn(turn.before, 'before', detector));
  const as = turn.run.ended?.as;
  if ((as === 'failure' || as === 'restart') && afterFailure === 'ignore') return null;
  return (
    turn.run.output.claim ??
    firstOf(detectors, (detector) => exitCode(turn, detector) ?? signIn(turn.after, 'after', detector))
  );
}

function firstOf(detectors: readonly Detector[], find: (detector: Detector) => Claim | null): Claim | null {
  for (const detector of detectors) {
    const claim = find(detector);
    if (claim !== null) return claim;
  }
  return null;
}

function signIn(probe: Probe | null, phase: Phase, detector: Detector): Claim | null {
  if (probe === null || !('phases' in detector) || !detector.phases.includes(phase)) return null;
  if (detector.kind === 'marker' && probe.markers.includes(detector.file))
    return { by: 'marker', text: detector.file };
  if (detector.kind === 'bus-message' && probe.messages.includes(detector.message)) {
    return { by: 'bus-message', text: detector.message };
  }
  return null;
}

function exitCode({ run }: Turn, detector: Detector): Claim | null {
  const ending = run?.ended?.ending;
  if (detector.kind !== 'exit-code' || ending?.how !== 'exited' || ending.code !== detector.code) return null;
  return { by: 'exit-code', text: `exit code ${detector.code}` };
}
