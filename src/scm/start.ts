/** What a loop needs from git before it starts, and what becomes of its records when it is archived or removed. */
import { join } from 'node:path';
import { treeOf, type Spec } from '../store/spec.ts';
import { isInRepository } from '../git/fingerprint.ts';
import { leftOutTrailers, removeRecords, thinRecords } from '../git/records.ts';
import { GitError, nonInteractiveEnv, resolveRevision, type Repository } from '../git/git.ts';
import { problemWith } from '../git/state.ts';
import { recordName, recordTree, withTree } from '../git/tree.ts';
import { isCommit } from '../loop/words.ts';
import type { Policy } from '../loop/policy.ts';
import { UserError } from '../user-error.ts';
import { readLoops } from '../store/read-loop.ts';
import { startersEnvironment, type StartedLoop } from '../store/run-environment.ts';
import { scmProgram } from './program.ts';

/** Refuses a loop that could not commit, before it is created. */
export async function refuseCommit(
  { commit }: Policy,
  workspace: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  if (commit === null || commit.tasks.length === 0) return;
  const program = scmProgram(commit, workspace, env);
  if ('problem' in program) throw new UserError(program.problem);
  if (!program.isGit || !commit.tasks.some(isCommit)) return;
  const problem = await problemWith({
    command: program.command,
    folder: workspace,
    env: nonInteractiveEnv(env),
  });
  if (problem !== null) throw new UserError(`cannot commit: ${problem}`);
}

/** Warnings about other loops that are running on the same files. */
export function notesOnOthers(spec: Spec, { commit }: Policy): readonly string[] {
  const others = readLoops(spec.workspace).filter(
    ({ spec: other, owner }) => owner !== null && other.id !== spec.id && treeOf(other) === treeOf(spec),
  );
  return others.flatMap(({ spec: { name }, state: { policy } }) => {
    const bothCommit = policy.commit !== null && commit !== null && commit.tasks.length > 0;
    if (bothCommit)
      return [`warning: the loop ${name} also commits here; each may commit the other's changes`];
    // A loop that an agent starts in its own folder is meant to be there.
    if (spec.parent !== null) return [];
    const remedy = isInRepository(spec.workspace) ? ' (--worktree gives a loop its own files)' : '';
    return [`warning: the loop ${name} is running on the same files; the two may interfere${remedy}`];
  });
}

/**
 * Records the tree at the loop's start, unless it is already recorded. If that fails, a loop that commits cannot start,
 * because its own changes could not be distinguished; any other loop continues without, and the returned note says so.
 */
export async function recordStart(loop: StartSpec): Promise<string | null> {
  const { spec, folder, env, policy } = loop;
  if (!isInRepository(treeOf(spec)))
    return 'not a git repository: no diffs, no checkpoints, no limit on iterations without progress';
  const repository = userGit(policy, treeOf(spec), env);
  const ref = startRef(spec);
  try {
    if ((await resolveRevision(repository, ref)) !== null) return null;
    await withTree(repository, join(folder.path, 'start-index'), (tree, { large }) =>
      recordTree(repository, {
        ref,
        tree,
        message: `ralph: ${spec.name}, before its first iteration`,
        trailers: [`Ralph-Loop: ${spec.name}`, ...leftOutTrailers(large)],
      }),
    );
    return null;
  } catch (error) {
    if (!(error instanceof GitError) || commitsWithGit(policy, treeOf(spec), env)) throw error;
    return `no diffs, no checkpoints: ${error.message}`;
  }
}

/** The configured SCM command if that is git, otherwise `git`. */
export function userGit(
  { commit, checkpointMaxFile }: Policy,
  folder: string,
  env: Readonly<Record<string, string>>,
): Repository {
  const program = commit === null ? null : scmProgram(commit, folder, env);
  return {
    command: program !== null && 'isGit' in program && program.isGit ? program.command : ['git'],
    folder,
    env: nonInteractiveEnv(env),
    maxFileBytes: checkpointMaxFile,
  };
}

function commitsWithGit({ commit }: Policy, folder: string, env: Readonly<Record<string, string>>): boolean {
  if (commit === null || !commit.tasks.some(isCommit)) return false;
  const program = scmProgram(commit, folder, env);
  return 'isGit' in program && program.isGit;
}

/** Removes all records of a loop in this workspace. */
export function forgetRecords({ id }: Pick<Spec, 'id'>, workspace: string): Promise<void> {
  return ignoringErrors(workspace, (repository) => removeRecords(repository, id));
}

/** Keeps the last record of an archived loop, which has the others as ancestors. */
export function putRecordsAside({ id }: Pick<Spec, 'id'>, workspace: string): Promise<void> {
  return ignoringErrors(workspace, (repository) => thinRecords(repository, id));
}

async function ignoringErrors(
  workspace: string,
  work: (repository: Repository) => Promise<void>,
): Promise<void> {
  if (!isInRepository(workspace)) return;
  try {
    await work({
      command: ['git'],
      folder: workspace,
      env: nonInteractiveEnv(startersEnvironment(process.env)),
    });
  } catch {
    // Records that stay do no harm.
  }
}

/** The ref of the record of a loop's start. */
export function startRef({ id }: Spec): string {
  return recordName(id, 'start');
}

interface StartSpec extends StartedLoop {
  readonly policy: Policy;
}
