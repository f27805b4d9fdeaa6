import type { Policy } from '../loop/policy.ts';
import { startersEnvironment } from '../home/run-environment.ts';
import { keptNotices } from '../home/notice-secrets.ts';
import type { Spec } from '../home/spec.ts';
import type { LoopFolder } from '../home/home.ts';
import type { Asked } from '../home/unstarted.ts';
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
  const { id, agent, prompt, task, tags, window, parent, notices: targets = [] } = spec;
  return createLoop({
    workspace,
    name,
    policy,
    agent: { ...agent, argv },
    prompt,
    env,
    task,
    tags,
    notices: { targets, secrets: keptNotices(id) },
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
