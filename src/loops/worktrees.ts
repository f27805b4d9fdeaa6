/** The worktrees of the loops of a workspace, as people see them. */
import type { Environment } from '../process/process.ts';
import { type LoopReading, readLoops } from '../home/read-loop.ts';
import { LoopFolder } from '../home/home.ts';
import { startersEnvironment } from '../home/run-environment.ts';
import type { Spec } from '../home/spec.ts';
import { GitError, resolveRevision } from '../git/git.ts';
import { workIn, type Work } from '../git/work.ts';
import { summaryOf, type LoopSummary } from './summary.ts';
import { gitIn, withGitErrorsForUser } from '../workspace/user-git.ts';
import { startRef } from '../workspace/start.ts';
import { readSetUpTree } from '../workspace/set-up.ts';
import { isOwn, ownsBranch, tipOf, worktreeStatus } from '../workspace/worktree.ts';

export interface WorktreeSummary {
  /** The loop's name. */
  readonly name: string;
  readonly branch: string;
  readonly path: string;
  /** `gone` if the folder was removed, `broken` if it is no valid worktree, `clean` if everything is committed. */
  readonly state: 'clean' | 'dirty' | 'broken' | 'gone';
  /** Whether the branch has its own commits, and all of them are merged. */
  readonly isMerged: boolean;
  readonly work: Work;
  /** The loop's status. */
  readonly status: LoopSummary['status'];
}

/** Lists the worktrees of which the folder, the registration or the branch exists. */
export async function listWorktrees(
  workspace: string,
  env: Environment,
): Promise<readonly WorktreeSummary[]> {
  const loops = readLoops(workspace).filter(({ spec }) => spec.worktree !== undefined);
  const found = await withGitErrorsForUser(() => Promise.all(loops.map((loop) => describe(loop, env))));
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

/** Whether the branch has moved since the loop started. */
async function hasMoved({ spec, report }: LoopReading, env: Environment): Promise<boolean> {
  const repository = gitIn(spec.workspace, env);
  const start = await resolveRevision(repository, `${startRef(spec)}^`);
  // There is no record if the agent has not started yet, or if recording failed.
  if (start === null) return report.commits > 0;
  return start !== (await tipOf(repository, spec.worktree?.branch ?? ''));
}

function stateOf({ trouble, changes }: Work): WorktreeSummary['state'] {
  if (trouble !== null) return 'broken';
  return changes > 0 ? 'dirty' : 'clean';
}

/** The work in a loop's worktree that is saved nowhere else; null if it has no worktree or git fails. */
export async function workOf(spec: Spec): Promise<Work | null> {
  if (spec.worktree === undefined) return null;
  const env = startersEnvironment(process.env);
  try {
    if (!(await isOwn(spec, env))) return null;
    const folder = new LoopFolder(spec);
    return await workIn(gitIn(spec.workspace, env), spec.worktree, readSetUpTree({ folder }));
  } catch (error) {
    if (error instanceof GitError) return null;
    throw error;
  }
}
