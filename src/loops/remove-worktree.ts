import type { Environment } from '../process/process.ts';
import { hasNoWork, lostWith, type Work } from '../git/work.ts';
import type { Repository } from '../git/git.ts';
import { removeBranch, removeTree } from '../git/worktree.ts';
import { withIdleLoop } from '../owner/idle-loop.ts';
import { gitIn, withGitErrorsForUser } from '../workspace/user-git.ts';
import type { LoopReading } from '../home/read-loop.ts';
import type { Worktree } from '../home/spec.ts';
import { UserError } from '../user-error.ts';
import { tidyMerge } from './merge.ts';
import { refuseInside } from '../workspace/occupied-place.ts';
import { readSetUpTree } from '../workspace/set-up.ts';
import { brokenTree, describeWork, ownsBranch, worktreeStatus } from '../workspace/worktree.ts';
import { withWorktreeLock } from '../workspace/worktree-lock.ts';

/** Removes the worktree and the branch of a loop; null if there was nothing. */
export async function removeWorktree(
  loop: LoopReading,
  force: boolean,
  env: Environment,
): Promise<RemovedWorktree | null> {
  const { worktree, name, workspace } = loop.spec;
  if (worktree === undefined) throw new UserError(`"${name}" has no worktree: it runs in the workspace`);
  const repository = gitIn(workspace, env);
  const remove = () => removeIdle(loop, worktree, { repository, force, env });
  return withGitErrorsForUser(() => withIdleLoop(loop, () => withWorktreeLock(repository, remove)));
}

async function removeIdle(
  loop: LoopReading,
  worktree: Worktree,
  how: { readonly repository: Repository; readonly force: boolean; readonly env: Environment },
): Promise<RemovedWorktree | null> {
  const { repository, force, env } = how;
  const { spec } = loop;
  const { path, branch } = worktree;
  const status = await worktreeStatus(spec, env);
  const hasBranch = await ownsBranch(spec, env);
  if (status === 'none' && !hasBranch) return null;
  if (status !== 'none') refuseInside(path);
  await tidyMerge(spec, worktree, repository);
  const place = { path: status === 'none' ? null : path, branch };
  const work = await lostWith(repository, place, readSetUpTree(loop));
  const lost = describeWork(work);
  if (work.trouble !== null && !force)
    throw brokenTree(path, work.trouble, `ralph worktree rm ${spec.name} --force`);
  if (!hasNoWork(work) && !force) {
    const isMergeable = work.changes > 0 || work.commits > 0;
    const keep = isMergeable ? `ralph worktree merge ${spec.name}` : 'git push there';
    throw new UnsavedWork(
      work,
      lost,
      `${path} (branch ${branch}) has work that is saved nowhere else: ${lost}; keep it with: ${keep}, discard it with: ralph worktree rm ${spec.name} --force`,
    );
  }
  if (status !== 'none') await removeTree(repository, path);
  const isGone = hasBranch && (await removeBranch(repository, branch));
  return { lost, what: isGone ? `${path} and branch ${branch}` : path };
}

export interface RemovedWorktree {
  /** The work that was lost. */
  readonly lost: string;
  /** For people: the worktree, and the branch unless that stays. */
  readonly what: string;
}

/** The worktree has work that would be lost. */
export class UnsavedWork extends UserError {
  readonly work: Work;
  /** The same in words. */
  readonly lost: string;

  constructor(work: Work, lost: string, message: string) {
    super(message);
    this.work = work;
    this.lost = lost;
  }
}
