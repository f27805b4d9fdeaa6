/**
 * What a person should know before a limit ends the loop, or because none does. It is told once: `noticed` remembers it, also when the loop is
 * resumed. A limit that was raised meanwhile is told of again.
 */
import { charged } from './charge.ts';
import type { Effect } from './effect.ts';
import { spentSoFar } from './limits.ts';
import type { NearedLimit } from './policy.ts';
import { progressAfter } from './progress.ts';
import { producedWork } from './run.ts';
import type { LoopState } from './state.ts';

/** The steps that are wanted, with the notices that are due beside them; a loop that rests uses no time. */
export function withNotices(state: LoopState, steps: readonly Effect[]): readonly Effect[] {
  const isActive = steps.some(({ type }) => type !== 'rest');
  return [...limitNotices(state), ...steps, ...(isActive ? timeAlarm(state) : [])];
}

/** Decisions to say that 80 % of a limit is used. */
function limitNotices(state: LoopState): readonly Effect[] {
  return NEARED_LIMITS.flatMap((limit): readonly Effect[] => {
    const of = state.policy.limits[limit];
    if (of === null || isTold(state, limit, of)) return [];
    const used = usedOf(state, limit);
    // A limit that is reached ends the loop, and its end says so. Floating-point sums can fall short.
    if (used === null || used + 1e-9 < of * NEAR || used + 1e-9 >= of) return [];
    const event = { type: 'limit.neared', limit, used, of } as const;
    return [{ type: 'record', key: `neared:${limit}`, event, moveAside: [] }];
  });
}

/** Lets the loop know when 80 % of its time is used, since nothing else may happen in a long run or wait. */
function timeAlarm(state: LoopState): readonly Effect[] {
  const of = state.policy.limits.timeMs;
  if (of === null || isTold(state, 'timeMs', of)) return [];
  const until = Math.ceil(state.now + of * NEAR - state.activeMs);
  return until <= state.now ? [] : [{ type: 'alarm', key: TIME_ALARM, until }];
}

export const TIME_ALARM = 'alarm:timeMs';

/** Decides to say that a limit on iterations without progress would end this loop, which has none and whose checks pass. */
export function noticeUnchanged(state: LoopState): readonly Effect[] | undefined {
  const { unchanged: limit, unchangedNotice: after } = state.policy.limits;
  const { checks, run } = state.turn;
  const isSaid = state.noticed.unchanged !== null;
  if (limit !== null || after === null || isSaid || !producedWork(run?.ended?.as)) return undefined;
  const passed = checks.length > 0 && checks.every((result) => result?.code === 0);
  const { unchanged } = progressAfter(state);
  if (!passed || unchanged < after) return undefined;
  const event = { type: 'unchanged.noticed', unchanged } as const;
  return [{ type: 'record', key: 'noticed:unchanged', event, moveAside: [] }];
}

/** Before the first notice. */
export const NOTHING_NOTICED: LoopState['noticed'] = {
  costUsd: null,
  tokens: null,
  timeMs: null,
  unchanged: null,
};

export const NEARED_LIMITS: readonly NearedLimit[] = ['costUsd', 'tokens', 'timeMs'];

export const NEAR = 0.8;

function isTold({ noticed }: LoopState, limit: NearedLimit, of: number): boolean {
  const told = noticed[limit];
  return told !== null && of <= told;
}

function usedOf(state: LoopState, limit: NearedLimit): number | null {
  if (limit === 'timeMs') return state.activeMs;
  const kind = limit === 'costUsd' ? 'usd' : 'tokens';
  const { sum, isUnknown } = charged(state, kind, spentSoFar(state));
  return isUnknown ? null : sum + state.family.below[kind];
}
