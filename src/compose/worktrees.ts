/** The trees of the loops of a workspace: which there are, and how to get rid of one. */
import type { LoopReading } from './read-loop.ts';
import { readLoops } from './read-loop.ts';
import type { Spec } from '../control/spec.ts';
import { GitError, resolve } from '../git/repository.ts';
import { isNothing, workIn, type Work } from '../git/worktree.ts';
import { UserError } from '../user-error.ts';
import { summaryOf, type LoopSummary } from './loop-summary.ts';
import { withIdleLoop } from './idle-loop.ts';
import { tidyMerge } from './merge-worktree.ts';
import { inWords } from './git.ts';
import { startOf } from './scm-start.ts';
import { describeWork, discard, gitIn, isOwn, tipOf } from './worktree.ts';

export interface WorktreeSummary {
  /** The loop's. */
  readonly name: string;
  readonly branch: string;
  readonly path: string;
  /** `gone` when its folder was removed, `clean` without anything that is not committed. */
  readonly state: 'clean' | 'dirty' | 'gone';
  /** Whether the branch has got commits since it was made, and all of them are elsewhere too. */
  readonly isMerged: boolean;
  readonly work: Work;
  /** The loop's. */
  readonly status: LoopSummary['status'];
}

type Environment = Readonly<Record<string, string>>;

/** The trees that are there, as a whole or only by their branch. */
export async function listWorktrees(
  workspace: string,
  env: Environment,
): Promise<readonly WorktreeSummary[]> {
  const loops = readLoops(workspace).filter(({ spec }) => spec.worktree !== undefined);
  const found = await inWords(() => Promise.all(loops.map((loop) => describe(loop, env))));
  return found.filter((one) => one !== null);
}

async function describe(loop: LoopReading, env: Environment): Promise<WorktreeSummary | null> {
  const { worktree, name } = loop.spec;
  if (worktree === undefined) return null;
  const { path, branch } = worktree;
  const repository = gitIn(loop.spec.workspace, env);
  const isThere = await isOwn(loop.spec, env);
  if (!isThere && !(await hasBranch(loop, env))) return null;
  const work = await workIn(repository, path, branch);
  const state = !isThere ? 'gone' : work.changes > 0 ? 'dirty' : 'clean';
  const isMerged = work.commits === 0 && (await hasMoved(loop, env));
  return { name, branch, path, state, isMerged, work, status: summaryOf(loop).status };
}

/** Whether its branch is not any more where it was when the loop began. */
async function hasMoved({ spec, account }: LoopReading, env: Environment): Promise<boolean> {
  const repository = gitIn(spec.workspace, env);
  const start = await resolve(repository, `${startOf(spec)}^`);
  // Without a record the agent has not begun, or nothing could be put on record.
  if (start === null) return account.commits > 0;
  return start !== (await tipOf(repository, spec.worktree?.branch ?? ''));
}

/** What is in a loop's tree and nowhere else; null where it has none, or nobody can tell. */
export async function workOf(spec: Spec, env: Environment): Promise<Work | null> {
  if (spec.worktree === undefined) return null;
  const { path, branch } = spec.worktree;
  try {
    return (await isOwn(spec, env)) ? await workIn(gitIn(spec.workspace, env), path, branch) : null;
  } catch (error) {
    if (error instanceof GitError) return null;
    throw error;
  }
}

/** Whether its branch is there, and nobody else's by now. */
async function hasBranch({ spec }: LoopReading, env: Environment): Promise<boolean> {
  if (spec.worktree === undefined) return false;
  const { branch, path } = spec.worktree;
  const others = readLoops(spec.workspace).filter((other) => other.spec.created > spec.created);
  if (others.some((other) => other.spec.worktree?.branch === branch && other.spec.worktree.path === path))
    return false;
  return (await tipOf(gitIn(spec.workspace, env), branch)) !== null;
}

/** Removes the tree and the branch of a loop, and tells what was thrown away with them; null where there was nothing. */
export async function removeWorktree(
  loop: LoopReading,
  force: boolean,
  env: Environment,
): Promise<{ readonly lost: string } | null> {
  const { spec } = loop;
  const { worktree, name } = spec;
  if (worktree === undefined) throw new UserError(`"${name}" has no worktree: it works in the workspace`);
  const { path, branch } = worktree;
  const repository = gitIn(spec.workspace, env);
  return inWords(() =>
    withIdleLoop(loop, async () => {
      const isThere = await isOwn(spec, env);
      if (!isThere && !(await hasBranch(loop, env))) return null;
      await tidyMerge(spec, worktree, repository);
      const work = await workIn(repository, path, branch);
      if (!isNothing(work) && !force) {
        throw new UserError(
          `${path} (branch ${branch}) has work that is nowhere else: ${describeWork(work)}; keep it with: ralph worktree merge ${name}, throw it away with: ralph worktree rm ${name} --force`,
        );
      }
      await discard(repository, worktree);
      return { lost: describeWork(work) };
    }),
  );
}
