import type { OutputSnapshot, RunClass } from './event.ts';
import type { LoopState, Run } from './state.ts';

/** The run that was planned and has not ended. */
export function openRun({ turn }: LoopState): Run | null {
  return [turn.run, turn.messageRun].find((run) => run !== null && run.ended === null) ?? null;
}

/** Whether the agent did its turn, so that there is work to be checked and committed. */
export function didItsTurn(as: RunClass | undefined): boolean {
  return as === 'ok' || as === 'restart';
}

/** Whether the next run belongs to the same iteration: what a limit, an outage, a person or the driver cut short is not charged. */
export function isCutShort(as: RunClass | undefined): boolean {
  return as === 'usage-limit' || as === 'outage' || as === 'interrupted';
}

/** Whether a continuous detector has what it waited for. */
export function hasClaimed({ claim, claimEndsRun }: OutputSnapshot): boolean {
  return claim !== null && claimEndsRun;
}

/** What is known of a run that has put out nothing. */
export const NO_OUTPUT: OutputSnapshot = {
  offset: 0,
  tokens: null,
  cost: null,
  steps: 0,
  said: null,
  claim: null,
  claimEndsRun: false,
  limit: null,
};
