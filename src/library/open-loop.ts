/** The implementation behind `library.ts`, which loads it with the first loop. */
import { realpathSync } from 'node:fs';
import { loopIn, refOf } from '../loops/find.ts';
import { localLoops } from '../loops/local-loops.ts';
import type { LoopRequest } from '../loops/loops.ts';
import { ownHere } from '../loops/own-here.ts';
import { Rights } from '../loops/rights.ts';
import { UserError } from '../user-error.ts';
import type { ResumeSpec } from './library.ts';
import { asFunction, requestOf, type LoopSpec } from './loop-spec.ts';
import { Loop } from './loop.ts';
import type { SeenEvent } from './recent-events.ts';

export async function openLoop(
  spec: LoopSpec,
  listener: (event: SeenEvent) => void,
  more: OwnTask = {},
): Promise<Loop> {
  const { request, named, perform } = requestOf(spec);
  const owned = await localLoops().ownNew(request, { named, more: () => ({ perform, ...more }) });
  return new Loop(owned, spec.signal, listener);
}

/** What only the loop of document 000 has: its own task folder, and a bus that takes its messages. */
export type OwnTask = Pick<LoopRequest, 'task' | 'post'>;

export async function reopenLoop(name: string, spec: ResumeSpec): Promise<Loop> {
  const workspace = realpathSync(spec.workspace ?? '.');
  const { trouble, state, spec: found } = loopIn(workspace, name);
  await new Rights().require('resume', found, `resumeLoop("${name}")`);
  if (trouble !== null) throw new UserError(trouble);
  if (state.outcome?.type === 'done')
    throw new UserError(`the loop "${name}" is already done; start a new one with createLoop()`);
  const perform = spec.agent === undefined ? undefined : asFunction(spec.agent);
  const owned = await ownHere(found, spec.env, { perform });
  owned.resume(null, false);
  return new Loop(owned, spec.signal, () => {});
}

/** Removes the worktree of a loop and its branch, merged or not; false if there is none. */
export async function discardWorktree(name: string, workspace: string): Promise<boolean> {
  const loops = localLoops({ as: () => `discardWorktree("${name}")` });
  return (await loops.removeWorktree(refOf(loopIn(realpathSync(workspace), name)), true)) !== null;
}
