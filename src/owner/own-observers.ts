/** What the owner itself does when something happens in its loop. */
import { waitAfter } from '../loop/limits.ts';
import { shareLimit, unshareLimit } from '../home/shared-limits.ts';
import type { LoopObserver } from './observer.ts';
import { promptAlias, unlinkAlias } from '../workspace/aliases.ts';
import type { Spec } from '../home/spec.ts';
import type { LoopFolder } from '../home/home.ts';

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

/** Removes the alias of a prompt (document 001) after its run has ended. */
export function removePromptAliases({ workspace }: Spec, folder: LoopFolder): LoopObserver {
  return {
    appended(event, { policy }) {
      if (event.type !== 'run.ended' || !policy.aliases) return;
      unlinkAlias(workspace, promptAlias(event.run), folder.workspaceFolder.prompt(event.run));
    },
  };
}
