import type { OutputSnapshot, RunClass } from './event.ts';
import type { LoopState, Run } from './state.ts';

/** The run that is planned and has not ended. */
export function openRun({ turn }: LoopState): Run | null {
  return [turn.run, turn.messageRun].find((run) => run !== null && run.ended === null) ?? null;
}

/** Whether the run completed, so that there is work to check and commit. */
export function producedWork(as: RunClass | undefined): boolean {
  return as === 'ok' || as === 'restart';
}

/** Whether a usage limit, an outage, a person or the driver cut the run short; the iteration is then run again, free of charge. */
export function isCutShort(as: RunClass | undefined): boolean {
  return as === 'usage-limit' || as === 'outage' || as === 'interrupted';
}

/** Whether a continuous detector has found its claim, so that the run ends now. */
export function endsByClaim({ claim, claimEndsRun }: OutputSnapshot): boolean {
  return claim !== null && claimEndsRun;
}

/** The snapshot of a run without any output. */
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
