import { join } from 'node:path';
import { promptAlias, unlinkAlias } from '../store/aliases.ts';
import type { Spec } from '../store/spec.ts';
import type { LoopFolder } from '../store/store.ts';
import type { LoopObserver } from './observer.ts';

/** Removes the name beside the settings under which document 001's agents open their prompt, once the run has ended. */
export function removePromptAliases({ workspace }: Spec, folder: LoopFolder): LoopObserver {
  return {
    appended(event, { policy }) {
      if (event.type !== 'run.ended' || !policy.aliases) return;
      unlinkAlias(workspace, promptAlias(event.run), join(folder.run(event.run), 'prompt.md'));
    },
  };
}
