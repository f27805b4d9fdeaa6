import type { Claim, Detector, Phase, Misplacement, NearMiss } from './completion.ts';
import type { Probe } from './event.ts';
import type { LoopState, Turn } from './state.ts';
import { isCutShort } from './run.ts';

/** The claim that a detector opens: by a marker or message before the run, or by what the run printed or left behind. */
export function openClaim({ policy, turn }: LoopState): Claim | null {
  const { detectors } = policy.completion;
  if (turn.run === null)
    return firstClaim(detectors, (detector) => claimInProbe(turn.before, 'before', detector));
  return (
    turn.run.output.claim ??
    firstClaim(
      detectors,
      (detector) => claimByExitCode(turn, detector) ?? claimInProbe(turn.after, 'after', detector),
    )
  );
}

/** What a claim needs to be accepted now: nothing, checks that pass, or more than this loop can give (`never`). */
export function neededEvidence(state: LoopState): 'none' | 'checks' | 'never' {
  const { policy, turn } = state;
  const { until, afterFailure } = policy.completion;
  const usual = until === 'claim' ? 'none' : 'checks';
  if (!isOfFailedRun(turn) || afterFailure === 'consider') return usual;
  // Where an exit code is the claim, it is not the sign of a failure.
  if (openClaim(state)?.by === 'exit-code') return usual;
  return afterFailure === 'checks' && policy.checks.commands.length > 0 ? 'checks' : 'never';
}

/** The marker files that have claimed in this turn. A claim that does not count must not count in the next turn either. */
export function claimingMarkers({ policy, turn }: LoopState): readonly string[] {
  const phase = turn.run === null ? 'before' : 'after';
  return policy.completion.detectors.flatMap((detector) =>
    detector.kind === 'marker' && claimInProbe(turn[phase], phase, detector) !== null ? [detector.file] : [],
  );
}

function isOfFailedRun({ run, runs }: Turn): boolean {
  // A marker before a run may come from an earlier run of the same iteration, which was cut short.
  return run === null ? runs > 0 : run.ended?.as === 'failure' || run.ended?.as === 'restart';
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

/** The near miss of the iteration's run, unless the run has claimed in another way or its claim would not count. */
export function missedClaim(state: LoopState): NearMiss | null {
  const { until } = state.policy.completion;
  const run = state.turn.run;
  const as = run?.ended?.as;
  if (as === undefined || as === 'fatal' || isCutShort(as) || until === 'checks') return null;
  return openClaim(state) === null && neededEvidence(state) !== 'never'
    ? (run?.output.nearMiss ?? null)
    : null;
}

/** Says what the agent wrote and why it is no claim, for people and for the next prompt. */
export function describeNearMiss(subject: string, { tag, where }: NearMiss): string {
  return `${subject} wrote ${tag} ${PLACES[where]}, which is no claim`;
}

const PLACES: Readonly<Record<Misplacement, string>> = {
  text: 'inside other text',
  code: 'in code',
  quotation: 'in a quotation',
  'earlier-message': 'before its last message',
};
