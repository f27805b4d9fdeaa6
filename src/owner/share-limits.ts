import { waitAfter } from '../loop/limits.ts';
import { shareLimit, unshareLimit } from '../store/shared-limits.ts';
import type { LoopObserver } from './observer.ts';

/** Shares a usage limit with the other loops of the account, so that they do not hit it too. */
export function shareLimits(account: string): LoopObserver {
  return {
    appended(event, state) {
      const { run } = state.turn;
      if (event.type !== 'run.ended' || run?.id !== event.run) return;
      if (event.as === 'ok') unshareLimit(account, run.plannedAt);
      if (event.as !== 'usage-limit') return;
      const { limit } = run.output;
      shareLimit(account, {
        resetsAt: limit?.resetsAt ?? waitAfter(state, run).until,
        message: limit?.message ?? 'usage limit',
        metAt: event.at,
      });
    },
  };
}
