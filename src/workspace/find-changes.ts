import type { EffectOf } from '../engine/ports.ts';
import { PRIVATE_FOLDER, makeFolders } from '../files/files.ts';
import { changesSince } from '../git/changes.ts';
import { noteHead, wasAttempted } from '../git/commit.ts';
import { resolveRevision, type Repository } from '../git/git.ts';
import { headCommit } from '../git/refs.ts';
import { problemWith } from '../git/state.ts';
import type { Changes } from '../loop/event.ts';
import { isCommit } from '../loop/words.ts';
import { treeOf } from '../home/spec.ts';
import type { LoopTree } from './loop-tree.ts';
import { scmProgram } from './user-git.ts';
import { explainGitError, taskRepository, type ScmSpec } from './scm-spec.ts';
import { startRef } from './start.ts';
import { readProgress, scmFolder } from './task-progress.ts';

/** Whether an iteration has something to commit; notes the tree that the checks saw. Null when interrupted. */
export async function findChanges(
  loop: ScmSpec,
  { iteration, commit }: EffectOf<'changes'>,
  interrupt: AbortSignal,
  files: LoopTree,
): Promise<Changes | null> {
  const program = scmProgram(commit, treeOf(loop.spec), loop.env);
  if ('problem' in program) return { any: true, error: program.problem };
  // Other programs report for themselves that there is nothing to commit.
  if (!program.isGit) return { any: true, error: null };
  const place = scmFolder(loop.folder, iteration);
  const repository = { ...taskRepository(loop, program, iteration), interrupt };
  try {
    // An attempted commit is finished first.
    if (wasAttempted(place)) return { any: true, error: null };
    const { tree, commit: head } = await files.see(repository);
    makeFolders(place, PRIVATE_FOLDER);
    const changes = await changesSince(repository, { start: startRef(loop.spec), tree, head });
    const problem = changes.length > 0 ? await problemWith(repository) : null;
    await noteHead(repository, place, { tree, head });
    const any = changes.length > 0;
    if (any && problem === null) files.learn({ changes });
    const committed = !any && (await hasOpenTasks(loop, repository, iteration, commit.tasks));
    return interrupt.aborted ? null : { any, committed, error: problem };
  } catch (error) {
    if (interrupt.aborted) return null;
    return { any: true, error: await explainGitError(error, repository) };
  }
}

/** Whether HEAD is a commit, by the agent or by an earlier iteration, for which not all tasks were carried out. */
async function hasOpenTasks(
  loop: ScmSpec,
  repository: Repository,
  iteration: number,
  tasks: readonly string[],
): Promise<boolean> {
  const head = tasks.every(isCommit) ? null : await headCommit(repository);
  if (head === null) return false;
  for (let before = iteration - 1; before > 0; before--) {
    const { commit, done } = readProgress(scmFolder(loop.folder, before));
    if (done.length > 0) return done.length < tasks.length || commit !== head;
  }
  return head !== (await resolveRevision(repository, `${startRef(loop.spec)}^1`));
}
