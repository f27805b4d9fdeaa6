import { waitAfter } from '../loop/limits.ts';
import { shareLimit, unshareLimit } from '../store/shared-limits.ts';
import type { LoopObserver } from './observer.ts';

/** Tells the other loops of an account about a usage limit, so that they do not run into it too. */
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
