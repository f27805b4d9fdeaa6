/** Before the first commit of a loop, and after the last: what it needs, and what it leaves behind. */
import { join } from 'node:path';
import type { LoopFolder } from '../store/store.ts';
import { treeOf, type Spec } from '../store/spec.ts';
import { isInRepository } from '../git/fingerprint.ts';
import { removeRecords, thinRecords } from '../git/records.ts';
import { GitError, quietGit, resolve, type Repository } from '../git/git.ts';
import { problemWith } from '../git/state.ts';
import { recordName, recordTree, writeTree } from '../git/tree.ts';
import { isCommit } from '../loop/words.ts';
import type { Policy } from '../loop/policy.ts';
import { UserError } from '../user-error.ts';
import { readLoops } from '../store/read-loop.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { scmProgram } from './program.ts';

/** Refuses a loop that could never commit, before anything of it is there. */
export async function refuseCommit(
  { commit }: Policy,
  workspace: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  if (commit === null || commit.tasks.length === 0) return;
  const program = scmProgram(commit, workspace, env);
  if ('problem' in program) throw new UserError(program.problem);
  if (!program.isGit || !commit.tasks.some(isCommit)) return;
  const problem = await problemWith({ command: program.command, folder: workspace, env: quietGit(env) });
  if (problem !== null) throw new UserError(`cannot commit: ${problem}`);
}

/** What to know of the loops that are at work on the same files. */
export function notesOnOthers(spec: Spec, { commit }: Policy): readonly string[] {
  const others = readLoops(spec.workspace).filter(
    ({ spec: other, owner }) => owner !== null && other.id !== spec.id && treeOf(other) === treeOf(spec),
  );
  return others.flatMap(({ spec: { name }, state: { policy } }) => {
    const bothCommit = policy.commit !== null && commit !== null && commit.tasks.length > 0;
    if (bothCommit)
      return [`warning: the loop ${name} commits here too; one may commit what the other has changed`];
    // What an agent starts in its own folder belongs there.
    if (spec.parent !== null) return [];
    const remedy = isInRepository(spec.workspace) ? ' (--worktree gives a loop files of its own)' : '';
    return [
      `warning: the loop ${name} is at work on the same files; they may get into each other's way${remedy}`,
    ];
  });
}

/**
 * Puts on record how everything was when the loop began, unless that is known: only what has changed since is its own.
 * Where that cannot be, a loop that commits cannot begin; any other goes without, and its user is told.
 */
export async function recordStart(loop: StartSpec): Promise<string | null> {
  const { spec, folder, env, policy } = loop;
  if (!isInRepository(treeOf(spec))) return 'not a git repository: no diffs, no checkpoints';
  const repository = gitOf(policy, treeOf(spec), env);
  const ref = startOf(spec);
  try {
    if ((await resolve(repository, ref)) !== null) return null;
    const tree = await writeTree(repository, join(folder.path, 'start-index'));
    const message = `ralph: ${spec.name}, before its first iteration`;
    await recordTree(repository, { ref, tree, message, trailers: [`Ralph-Loop: ${spec.name}`] });
    return null;
  } catch (error) {
    if (!(error instanceof GitError) || commitsWithGit(policy, treeOf(spec), env)) throw error;
    return `no diffs, no checkpoints: ${error.message}`;
  }
}

/** The user's own git, with the options that they gave it where they want commits. */
export function gitOf({ commit }: Policy, folder: string, env: Readonly<Record<string, string>>): Repository {
  const program = commit === null ? null : scmProgram(commit, folder, env);
  return {
    command: program !== null && 'isGit' in program && program.isGit ? program.command : ['git'],
    folder,
    env: quietGit(env),
  };
}

function commitsWithGit({ commit }: Policy, folder: string, env: Readonly<Record<string, string>>): boolean {
  if (commit === null || !commit.tasks.some(isCommit)) return false;
  const program = scmProgram(commit, folder, env);
  return 'isGit' in program && program.isGit;
}

/** Forgets what is on record of a loop whose folder is in this workspace. */
export function forgetRecords({ id }: Pick<Spec, 'id'>, workspace: string): Promise<void> {
  return quietly(workspace, (repository) => removeRecords(repository, id));
}

/** A loop is put aside: what is on record of it is kept, under one name. */
export function putRecordsAside({ id }: Pick<Spec, 'id'>, workspace: string): Promise<void> {
  return quietly(workspace, (repository) => thinRecords(repository, id));
}

async function quietly(workspace: string, work: (repository: Repository) => Promise<void>): Promise<void> {
  if (!isInRepository(workspace)) return;
  try {
    await work({ command: ['git'], folder: workspace, env: quietGit(startersEnvironment(process.env)) });
  } catch {
    // They are in nobody's way.
  }
}

/** The name under which the beginning is on record. */
export function startOf({ id }: Spec): string {
  return recordName(id, 'start');
}

interface StartSpec {
  readonly spec: Spec;
  readonly folder: LoopFolder;
  readonly env: Readonly<Record<string, string>>;
  readonly policy: Policy;
}
