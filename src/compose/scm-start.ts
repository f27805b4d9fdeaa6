/** Before the first commit of a loop, and after the last: what it needs, and what it leaves behind. */
import { join } from 'node:path';
import type { LoopFolder } from '../control/layout.ts';
import { treeOf, type Spec } from '../control/spec.ts';
import { quietGit, resolve } from '../git/repository.ts';
import { problemWith } from '../git/state.ts';
import { recordName, recordTree, removeRecords, writeTree } from '../git/tree.ts';
import { isCommit } from '../loop/words.ts';
import type { Policy } from '../loop/policy.ts';
import { UserError } from '../user-error.ts';
import { readLoops } from './read-loop.ts';
import { scmProgram } from './scm-program.ts';

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

/** The loops that are at work in the same tree and commit too: whose change a commit has is then anybody's guess. */
export function otherCommitters(spec: Spec, { commit }: Policy): readonly string[] {
  if (commit === null || commit.tasks.length === 0) return [];
  return readLoops(spec.workspace)
    .filter(
      ({ spec: other, owner, state }) =>
        owner !== null &&
        other.id !== spec.id &&
        state.policy.commit !== null &&
        treeOf(other) === treeOf(spec),
    )
    .map(({ spec: other }) => other.name);
}

/** Puts on record how everything was when the loop began, unless that is known: only what has changed since is its own. */
export async function recordStart(loop: StartSpec): Promise<void> {
  const { spec, folder, env, policy } = loop;
  const { commit } = policy;
  if (commit === null || !commit.tasks.some(isCommit)) return;
  const program = scmProgram(commit, treeOf(spec), env);
  if ('problem' in program || !program.isGit) return;
  const repository = { command: program.command, folder: treeOf(spec), env: quietGit(env) };
  const ref = startOf(spec);
  if ((await resolve(repository, ref)) !== null) return;
  const tree = await writeTree(repository, join(folder.path, 'start-index'));
  await recordTree(repository, { ref, tree, message: `ralph: ${spec.name}, before its first iteration` });
}

/** Forgets what is on record of a loop. */
export async function forgetRecords(spec: Spec, { commit }: Policy): Promise<void> {
  if (commit === null) return;
  const env = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? '']));
  const program = scmProgram(commit, spec.workspace, env);
  if ('problem' in program || !program.isGit) return;
  try {
    // All trees of a repository have them in common, and a worktree may be gone.
    await removeRecords({ command: program.command, folder: spec.workspace, env }, spec.id);
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
