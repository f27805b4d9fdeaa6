/** The trees of the loops of a workspace: which there are, and how to get rid of one. */
import type { LoopReading } from '../store/read-loop.ts';
import { readLoops } from '../store/read-loop.ts';
import { loopFolder } from '../store/store.ts';
import type { Spec } from '../store/spec.ts';
import { GitError, resolve } from '../git/git.ts';
import { isNothing, workIn, type Work } from '../git/work.ts';
import { removeBranch, removeTree } from '../git/worktree.ts';
import { UserError } from '../user-error.ts';
import { summaryOf, type LoopSummary } from './loop-summary.ts';
import { withIdleLoop } from '../recovery/idle-loop.ts';
import { tidyMerge } from '../worktree/merge.ts';
import { inWords } from '../scm/git.ts';
import { startOf } from '../scm/start.ts';
import { withPlaces } from '../worktree/lock-places.ts';
import { readSetUpTree } from '../worktree/set-up.ts';
import { refuseInside } from '../worktree/place.ts';
import { brokenTree, describeWork, isOwn, ownsBranch, worktreeStatus, tipOf } from '../worktree/worktree.ts';
import { gitIn } from '../scm/git.ts';

export interface WorktreeSummary {
  /** The loop's. */
  readonly name: string;
  readonly branch: string;
  readonly path: string;
  /** `gone` when its folder was removed, `broken` when that is no tree any more, `clean` when all is committed. */
  readonly state: 'clean' | 'dirty' | 'broken' | 'gone';
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
  const found = await worktreeStatus(loop.spec, env);
  if (found === 'none' && !(await ownsBranch(loop.spec, env))) return null;
  const work = await workIn(
    repository,
    { path: found === 'none' ? null : path, branch },
    readSetUpTree(loop),
  );
  const state = found === 'own' || found === 'broken' ? stateOf(work) : 'gone';
  const isMerged = work.commits === 0 && (await hasMoved(loop, env));
  return { name, branch, path, state, isMerged, work, status: summaryOf(loop).status };
}

/** Whether its branch is not any more where it was when the loop began. */
async function hasMoved({ spec, report }: LoopReading, env: Environment): Promise<boolean> {
  const repository = gitIn(spec.workspace, env);
  const start = await resolve(repository, `${startOf(spec)}^`);
  // Without a record the agent has not begun, or nothing could be put on record.
  if (start === null) return report.commits > 0;
  return start !== (await tipOf(repository, spec.worktree?.branch ?? ''));
}

function stateOf({ trouble, changes }: Work): WorktreeSummary['state'] {
  if (trouble !== null) return 'broken';
  return changes > 0 ? 'dirty' : 'clean';
}

/** What is in a loop's tree and nowhere else; null where it has none, or nobody can tell. */
export async function workOf(spec: Spec, env: Environment): Promise<Work | null> {
  if (spec.worktree === undefined) return null;
  try {
    if (!(await isOwn(spec, env))) return null;
    const folder = loopFolder(spec.workspace, spec.name);
    return await workIn(gitIn(spec.workspace, env), spec.worktree, readSetUpTree({ folder }));
  } catch (error) {
    if (error instanceof GitError) return null;
    throw error;
  }
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
  const remove = async (): Promise<{ readonly lost: string } | null> => {
    const found = await worktreeStatus(spec, env);
    const isBranchOurs = await ownsBranch(spec, env);
    if (found === 'none' && !isBranchOurs) return null;
    if (found !== 'none') refuseInside(path);
    await tidyMerge(spec, worktree, repository);
    const work = await workIn(
      repository,
      { path: found === 'none' ? null : path, branch },
      readSetUpTree(loop),
    );
    if (work.trouble !== null && !force)
      throw brokenTree(path, work.trouble, `ralph worktree rm ${name} --force`);
    if (!isNothing(work) && !force) {
      const isMergeable = work.changes > 0 || work.commits > 0;
      const keep = isMergeable ? `ralph worktree merge ${name}` : 'git push there';
      throw new UserError(
        `${path} (branch ${branch}) has work that is nowhere else: ${describeWork(work)}; keep it with: ${keep}, throw it away with: ralph worktree rm ${name} --force`,
      );
    }
    if (found !== 'none') await removeTree(repository, path);
    if (isBranchOurs) await removeBranch(repository, branch);
    return { lost: describeWork(work) };
  };
  return inWords(() => withIdleLoop(loop, () => withPlaces(repository, remove)));
}
