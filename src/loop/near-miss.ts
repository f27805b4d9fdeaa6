import { neededEvidence, openClaim } from './claim.ts';
import type { Misplacement, NearMiss } from './completion.ts';
import { isCutShort } from './run.ts';
import type { LoopState } from './state.ts';

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
