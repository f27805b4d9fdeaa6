import { UnsavedWork } from '../loops/remove-worktree.ts';
import { localLoops } from '../loops/local-loops.ts';
import type { LoopRef, Loops } from '../loops/loops.ts';
import { UserError } from '../user-error.ts';
import { explainError } from './errors.ts';
import { print, warn } from './print.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph kill`: ends a loop and its agent now, and returns when both are gone. */
export async function kill(name: string | null, options: KillOptions): Promise<number> {
  if ((name === null) === (options.all !== true))
    throw new UserError('name the loop to kill, or kill all loops of the workspace with: --all');
  const loops = localLoops();
  const folder = workspaceOf(options);
  const chosen = name === null ? await unfinished(loops, folder) : [await loops.find(name, folder)];
  if (chosen.length === 0) warn('no loops to kill in this workspace\n');
  const ended = await Promise.allSettled(chosen.map((loop) => killOne(loops, loop, options)));
  const codes = ended.map((one) => (one.status === 'rejected' ? explainError(one.reason) : 0));
  return Math.max(0, ...codes);
}

export interface KillOptions {
  readonly all?: boolean;
  readonly rmWorktree?: boolean;
  readonly forceDirty?: boolean;
  readonly cwd?: string;
}

async function unfinished(loops: Loops, workspace: string): Promise<readonly LoopRef[]> {
  return (await loops.list({ workspace })).filter(({ record }) => record.outcome === null);
}

async function killOne(loops: Loops, loop: LoopRef, options: KillOptions): Promise<void> {
  const { name } = loop;
  const killed = await loops.kill(loop);
  if (killed.is === 'had ended') warn(`ralph: warning: loop ${name} has already ended\n`);
  else if (killed.owner !== null)
    warn(
      `ralph: warning: killed the owner of loop ${name} (process ${killed.owner}), which did not respond\n`,
    );
  if (killed.is === 'killed') print(`killed ${name}\n`);
  if (options.rmWorktree === true) await removeTree(loops, loop, options.forceDirty === true);
}

async function removeTree(loops: Loops, loop: LoopRef, force: boolean): Promise<void> {
  const { worktree } = (await loops.get(loop)).summary.record;
  if (worktree === null) return;
  try {
    const removed = await loops.removeWorktree(loop, force);
    if (removed !== null) print(`removed ${removed.what}\n`);
  } catch (error) {
    if (!(error instanceof UnsavedWork)) throw error;
    const { changes } = error.work;
    const work = changes > 0 ? `${changes} uncommitted change(s)` : error.lost;
    const { path, branch } = worktree;
    warn(
      `ralph: warning: worktree has ${work}; kept ${path} (branch ${branch})\n` +
        `Merge it with: ralph worktree merge ${loop.name}, or discard it with: ralph kill ${loop.name} --rm-worktree --force-dirty\n`,
    );
  }
}
