import type { Claim, Detector, Phase } from './completion.ts';
import type { Probe } from './event.ts';
import type { LoopState, Turn } from './state.ts';

/** The claim that a detector opens: by a marker or message before the run, or by what the run printed or left behind. */
export function openClaim({ policy, turn }: LoopState): Claim | null {
  const { detectors, afterFailure } = policy.completion;
  if (turn.run === null)
    return firstClaim(detectors, (detector) => claimInProbe(turn.before, 'before', detector));
  const as = turn.run.ended?.as;
  if ((as === 'failure' || as === 'restart') && afterFailure === 'ignore') return null;
  return (
    turn.run.output.claim ??
    firstClaim(
      detectors,
      (detector) => claimByExitCode(turn, detector) ?? claimInProbe(turn.after, 'after', detector),
    )
  );
}

function firstClaim(
  detectors: readonly Detector[],
  find: (detector: Detector) => Claim | null,
): Claim | null {
  for (const detector of detectors) {
    const claim = find(detector);
    if (claim !== null) return claim;
  }
  return null;
}

function claimInProbe(probe: Probe | null, phase: Phase, detector: Detector): Claim | null {
  if (probe === null || !('phases' in detector) || !detector.phases.includes(phase)) return null;
  if (detector.kind === 'marker' && probe.markers.includes(detector.file))
    return { by: 'marker', text: detector.file };
  if (detector.kind === 'bus-message' && probe.messages.includes(detector.message)) {
    return { by: 'bus-message', text: detector.message };
  }
  return null;
}

function claimByExitCode({ run }: Turn, detector: Detector): Claim | null {
  const ending = run?.ended?.ending;
  if (detector.kind !== 'exit-code' || ending?.how !== 'exited' || ending.code !== detector.code) return null;
  return { by: 'exit-code', text: `exit code ${detector.code}` };
}
