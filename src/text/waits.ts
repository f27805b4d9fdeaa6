/** What a loop waits for, in the words of its lines, its status line and its status. */
import { awaitedChildren, loopName } from '../loop/child-report.ts';
import { counted, duration, shortList } from '../loop/counted.ts';
import { decide } from '../loop/decide.ts';
import type { Effect, WaitReason } from '../loop/effect.ts';
import { cut } from '../loop/excerpt.ts';
import { beyondReset } from '../loop/limits.ts';
import { openRun } from '../loop/run.ts';
import type { LoopState } from '../loop/state.ts';
import { clockTime, timeOfDay } from './times.ts';

type Wait = Extract<Effect, { type: 'wait' }>;

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

/** The same for lists and `ralph status`, with the reason; `drivenBy` is who would continue the loop. */
export function waitingFor(
  state: LoopState,
  drivenBy: 'process' | 'session' | null,
  now: number,
): string | null {
  const pending = pendingOf(state);
  if (pending !== null || drivenBy === null) return pending;
  const wait = decide(state).find((effect) => effect.type === 'wait');
  if (wait !== undefined) return waitWithReason(state, wait, now);
  return drivenBy === 'process' ? childrenText(state) : null;
}

/** The same in a few words, for the state in a list: `usage limit until 03:00`, `stopping`. */
export function waitingState(waiting: string): string {
  const pending = /then the loop (stop|pause)s$/.exec(waiting);
  if (pending !== null) return pending[1] === 'stop' ? 'stopping' : 'pausing';
  const what = waiting.replace(/ \(.*/s, '').replace(/(\d\d:\d\d):\d\d$/, '$1');
  return what.includes(' until ') ? what : `waiting: ${what}`;
}

export function isWaitingState(state: string): boolean {
  return /^waiting: | until |^(?:stopp|paus)ing$/.test(state);
}

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

function waitOf(state: LoopState, now: number): Wait | null {
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

/** A stop or pause that has not taken effect yet. */
function pendingOf(state: LoopState): string | null {
  if (state.outcome !== null) return null;
  if (state.control.stop !== null) return 'running step, then the loop stops';
  return state.control.paused && openRun(state) !== null ? 'running iteration, then the loop pauses' : null;
}

function waitWithReason(state: LoopState, { until, why }: Wait, now: number): string {
  const { turn, questions } = state;
  const ending = turn.run?.ended?.ending;
  const error = ending !== undefined && 'error' in ending ? ending.error : null;
  const because: Readonly<Record<typeof why, string | null>> = {
    'usage-limit': turn.sharedLimit?.message ?? turn.run?.output.limit?.message ?? null,
    outage: error?.message ?? null,
    backoff: error?.message ?? null,
    delay: null,
    answer: questions[0]?.text ?? null,
  };
  const words = {
    'usage-limit': 'usage limit',
    outage: 'provider outage',
    backoff: 'backoff',
    delay: 'delay',
    answer: 'answer',
  };
  const end = until === null ? '' : ` until ${clockTime(until, now)}`;
  // An agent or a provider wrote it; the status of a loop is on one line.
  const reason = cut((because[why] ?? '').trim().replaceAll(/\s+/g, ' '), MAX_REASON);
  const longer = why === 'usage-limit' ? longerWaitText(state) : null;
  const about = [reason, longer].filter((part) => part !== null && part !== '').join('; ');
  return `${words[why]}${end}${about === '' ? '' : ` (${about})`}`;
}

const MAX_REASON = 200;

function childrenText(state: LoopState): string | null {
  const children = awaitedChildren(state);
  if (children === null) return null;
  return `${counted(children.length, 'child loop')} (${shortList(children.map(loopName), 8)})`;
}
