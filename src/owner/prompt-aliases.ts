import { promptAlias, unlinkAlias } from '../store/aliases.ts';
import type { Spec } from '../store/spec.ts';
import type { LoopFolder } from '../store/store.ts';
import type { LoopObserver } from './observer.ts';

/** Removes the alias of a prompt (document 001) after its run has ended. */
export function removePromptAliases({ workspace }: Spec, folder: LoopFolder): LoopObserver {
  return {
    appended(event, { policy }) {
      if (event.type !== 'run.ended' || !policy.aliases) return;
      unlinkAlias(workspace, promptAlias(event.run), folder.desk.prompt(event.run));
    },
  };
}
