/** Whether a failed run is tried again. */
import { neededEvidence, openClaim } from './claim.ts';
import { wantsChecks } from './decide.ts';
import { refusedForGood } from './failure.ts';
import type { LoopState } from './state.ts';

/** Whether no wait and no other try follow the failed run: a limit is reached, or the loop pauses or stops. */
export function isLastTry(state: LoopState): boolean {
  const { failures, iterations } = state.policy.limits;
  return (
    (failures !== null && state.failures.consecutive >= failures) ||
    (iterations !== null && state.turn.iteration >= iterations) ||
    state.control.stop !== null ||
    state.control.paused ||
    refusedForGood(state) !== null
  );
}

/** Whether a failed run can still complete the loop: by its claim, if checks confirm it, or by checks alone. */
export function mayStillClaim(state: LoopState): boolean {
  const { until, detectors } = state.policy.completion;
  if (until === 'checks') return wantsChecks(state);
  const mayLeaveSign = detectors.some(
    (detector) => 'phases' in detector && detector.phases.includes('after'),
  );
  return neededEvidence(state) !== 'never' && (mayLeaveSign || openClaim(state) !== null);
}
