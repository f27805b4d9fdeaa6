import { clockTime, duration } from '../journal/times.ts';
import { decide } from '../loop/decide.ts';
import type { WaitReason } from '../loop/effect.ts';
import type { LoopState } from '../loop/state.ts';

/** What the loop waits for and until when, where the wait takes longer than a moment; null if it does not wait. */
export function waitText(state: LoopState, now: number = state.now): string | null {
  const wait = decide(state).find((effect) => effect.type === 'wait');
  if (wait === undefined || wait.until - now < 1000) return null;
  const left = `${duration(wait.until - now, ' ')} left, until ${clockTime(wait.until, now)}`;
  return `waiting ${WAITS[wait.why]} (${left})`;
}

/** What follows the word `waiting` or `waited`. */
export const WAITS: Readonly<Record<WaitReason, string>> = {
  'usage-limit': 'for the usage limit to reset',
  outage: 'for the provider',
  backoff: 'to retry',
  delay: 'for the next iteration',
};
