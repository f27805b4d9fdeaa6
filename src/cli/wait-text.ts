import { clockTime, timeOfDay } from '../text/times.ts';
import { duration } from '../loop/counted.ts';
import { decide } from '../loop/decide.ts';
import type { Effect, WaitReason } from '../loop/effect.ts';
import type { LoopState } from '../loop/state.ts';

/** What the loop waits for and until when, where the wait takes longer than a moment; null if it does not wait. */
export function waitText(state: LoopState, now: number = state.now): string | null {
  const wait = waitOf(state, now);
  if (wait === null) return null;
  const { until, why } = wait;
  if (until === null) return `waiting ${WAITS[why]}`;
  return `waiting ${WAITS[why]} (${duration(until - now, ' ')} left, until ${clockTime(until, now)})`;
}

/** The same for the status line, which has little room. */
export function timeLeft(state: LoopState, now: number): string | null {
  const wait = waitOf(state, now);
  if (wait === null) return null;
  const { until, why } = wait;
  if (until === null) return REASONS[why];
  return `${REASONS[why]}: ${duration(until - now, ' ')} left, until ${timeOfDay(until, now)}`;
}

function waitOf(state: LoopState, now: number): Extract<Effect, { type: 'wait' }> | null {
  const wait = decide(state).find((effect) => effect.type === 'wait');
  return wait === undefined || (wait.until !== null && wait.until - now < 1000) ? null : wait;
}

const REASONS: Readonly<Record<WaitReason, string>> = {
  'usage-limit': 'usage limit',
  outage: 'provider outage',
  backoff: 'retry',
  delay: 'next iteration',
  answer: 'waiting for an answer',
};

/** What follows the word `waiting` or `waited`. */
export const WAITS: Readonly<Record<WaitReason, string>> = {
  'usage-limit': 'for the usage limit to reset',
  outage: 'for the provider',
  backoff: 'to retry',
  delay: 'for the next iteration',
  answer: 'for an answer',
};
