import { counted, duration } from '../loop/counted.ts';
import { beyondReset } from '../loop/limits.ts';
import type { LoopState } from '../loop/state.ts';

/** How much longer the loop waits for a usage limit than the provider has announced, and why; null if it does not. */
export function longerWaitText(state: LoopState): string | null {
  const { run, sharedLimit } = state.turn;
  const { ms, why } =
    run?.ended?.as === 'usage-limit'
      ? beyondReset(state, run)
      : ({ ms: sharedLimit === null ? 0 : sharedLimit.until - sharedLimit.resetsAt, why: 'spread' } as const);
  if (ms < 1000) return null;
  const reason =
    why === 'repeated'
      ? `the limit was reached ${counted(state.rung, 'time')} in a row`
      : 'so that loops do not all retry at once';
  return `${duration(ms, ' ')} longer than announced: ${reason}`;
}
