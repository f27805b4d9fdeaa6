import type { Policy } from '../loop/policy.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import type { Spec } from '../store/spec.ts';
import type { LoopFolder } from '../store/store.ts';
import type { Asked } from '../store/unstarted.ts';
import { createLoop } from './create-loop.ts';
import type { CreatedLoop } from './created-loop.ts';
import { environmentFor } from './loop-environment.ts';

/** Starts a loop whose creator died: creates it again as it was asked for, in place of what is left of it. */
export function startUnstarted(
  { name, workspace }: LoopFolder,
  { spec, worktree, paidBy }: Asked,
  policy: Policy,
  { place, given }: { readonly place: Spec['place']; readonly given: Readonly<Record<string, string>> },
): Promise<CreatedLoop> {
  const own = startersEnvironment(process.env);
  const { env, argv, notes } = environmentFor(spec, { by: 'person', env: own, given });
  const { agent, prompt, task, tags, window, parent } = spec;
  return createLoop({
    workspace,
    name,
    policy,
    agent: { ...agent, argv },
    prompt,
    env,
    task,
    tags,
    parent,
    paidBy,
    place,
    window,
    worktree: worktree !== undefined,
    worktreeAt: worktree,
    fresh: false,
    isAgain: true,
    notes,
  });
}
