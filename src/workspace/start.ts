/** What a loop needs from git before it starts, and what becomes of its records when it is archived or removed. */
import { relative, resolve, join } from 'node:path';
import { realPath } from '../files/files.ts';
import { treeOf, type Spec } from '../home/spec.ts';
import { isInRepository } from '../git/location.ts';
import { leftOutTrailers, removeRecords, sizeOfRecords, thinRecords } from '../git/records.ts';
import { GitError, nonInteractiveEnv, resolveRevision, type Repository, execGit } from '../git/git.ts';
import { GitMissing } from '../git/git-error.ts';
import { recordName, recordTree } from '../git/refs.ts';
import { problemWith } from '../git/state.ts';
import { withTree, type SeenTree } from '../git/tree.ts';
import { branchOf } from '../git/worktree.ts';
import { isCommit } from '../loop/words.ts';
import type { StartRecord } from '../loop/event.ts';
import { enclosing, isHidden } from '../sandbox/git-view.ts';
import { hasEvidence } from '../loop/evidence.ts';
import type { Policy, SandboxPolicy } from '../loop/policy.ts';
import { UserError } from '../user-error.ts';
import { readOwnedLoops } from '../home/read-loop.ts';
import { shortList } from '../loop/counted.ts';
import { startersEnvironment, type StartedLoop } from '../home/run-environment.ts';
import { startRecord } from './evidence.ts';
import { checkpointIndex } from './loop-tree.ts';
import { scmProgram, userGit } from './user-git.ts';
import type { Environment } from '../process/process.ts';

/** Refuses a loop that could not commit, before it is created; `refuseWorktree` has looked at a worktree's repository. */
export async function refuseCommit(
  { commit, sandbox }: Policy,
  workspace: string,
  env: Environment,
  isInWorktree: boolean,
): Promise<void> {
  if (commit === null || commit.tasks.length === 0) return;
  const program = scmProgram(commit, workspace, env);
  if ('problem' in program) throw new UserError(program.problem);
  if (!program.isGit || !commit.tasks.some(isCommit)) return;
  const repository: Repository = {
    command: program.command,
    folder: workspace,
    env: nonInteractiveEnv(env),
    enclose: enclosing(sandbox),
  };
  const problem = isInWorktree ? null : await problemWith(repository);
  if (problem !== null) throw new UserError(`cannot commit: ${problem}`);
  await refuseHiddenKey(repository, sandbox, { isResumed: false });
}

/** Refuses to resume a loop that could not sign its commits any more. */
export async function refuseUnsigned(policy: Policy, tree: string, env: Environment): Promise<void> {
  if (commitsWithGit(policy, tree, env))
    await refuseHiddenKey(userGit(policy, tree, env), policy.sandbox, { isResumed: true });
}

/** Warnings about other loops that are running on the same files. */
export function notesOnOthers(spec: Spec, { commit }: Policy): readonly string[] {
  const others = readOwnedLoops(spec.workspace).filter(
    ({ spec: other }) => other.id !== spec.id && treeOf(other) === treeOf(spec),
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
 * Records the tree at the loop's start, unless it is already recorded. If that fails, a loop that commits or protects files
 * cannot start, because the changes of its agent could not be distinguished; any other loop continues without, and the
 * returned note says so.
 */
export async function recordStart(loop: StartSpec): Promise<RecordedStart> {
  const { spec, env, policy } = loop;
  if (!isInRepository(treeOf(spec)))
    return withoutRecord(policy, `not a git repository: ${LACKING}`, treeOf(spec));
  const repository = userGit(policy, treeOf(spec), env, loop.say);
  const ref = startRef(spec);
  try {
    const known = loop.isNew === true ? null : await resolveRevision(repository, `${ref}^{tree}`);
    const tree = known ?? (await writeRecord(repository, loop, ref));
    // After a run the ref may be the agent's, and only the journal knows the start.
    if (loop.hasRun) return { start: null, notes: [], isRecorded: true };
    const { start, notes } = await startRecord(repository, tree, policy, promptFile(spec, policy));
    const branch = commitsWithGit(policy, treeOf(spec), env) ? { branch: await branchOf(repository) } : {};
    return { start: { ...start, ...branch }, notes, isRecorded: true };
  } catch (error) {
    if (!(error instanceof GitError) || commitsWithGit(policy, treeOf(spec), env)) throw error;
    return error instanceof GitMissing
      ? withoutRecord(policy, `${error.message}: ${LACKING}`, treeOf(spec), 'install git')
      : withoutRecord(policy, `no diffs, no checkpoints: ${error.message}`, treeOf(spec));
  }
}

/** The file of the prompt, relative to where the loop works; null if there is none, or if it is the plan, which changes. */
function promptFile(spec: Spec, { plan }: Policy): string | null {
  const { prompt } = spec;
  const given = 'file' in prompt ? prompt.file : 'spec' in prompt ? prompt.spec : null;
  if (given === null) return null;
  const [tree, file] = [realPath(treeOf(spec)), realPath(given)];
  return plan !== null && resolve(tree, plan.file) === file ? null : relative(tree, file);
}

/** Records the tree as it is now, and returns its id. The first look of the loop, which follows, uses the same index. */
function writeRecord(repository: Repository, { spec, folder }: StartedLoop, ref: string): Promise<string> {
  const record = async ({ tree, large }: SeenTree): Promise<string> => {
    await recordTree(repository, {
      ref,
      tree,
      message: `ralph: ${spec.name}, before its first iteration`,
      trailers: [`Ralph-Loop: ${spec.name}`, ...leftOutTrailers(large)],
    });
    return tree;
  };
  return withTree(repository, checkpointIndex(folder), record, { keepsIndex: true });
}

const LACKING = 'no diffs, no checkpoints, no limit on iterations without progress';

export interface RecordedStart {
  /** For the journal; null if there is none, or a run has started already. */
  readonly start: StartRecord | null;
  /** Whether there is a record for diffs and checkpoints. */
  readonly isRecorded: boolean;
  /** What the user should know. */
  readonly notes: readonly string[];
}

/** Refuses a loop that is to protect files and cannot. */
function withoutRecord(
  policy: Policy,
  note: string,
  folder: string,
  remedy: string = 'run git init',
): RecordedStart {
  const { protect } = policy.evidence;
  if (protect.length > 0)
    throw new UserError(
      `cannot protect ${shortList(protect, 3)} in ${folder} (${note.replace(/:.*/s, '')}): protected files are compared with the git tree at the start; ${remedy}, or start without --protect`,
    );
  const unwatched = hasEvidence(policy)
    ? ', changes of tests and of files that checks run are not noticed'
    : '';
  return { start: null, isRecorded: false, notes: [`${note}${unwatched}`] };
}

function commitsWithGit({ commit }: Policy, folder: string, env: Environment): boolean {
  if (commit === null || !commit.tasks.some(isCommit)) return false;
  const program = scmProgram(commit, folder, env);
  return 'isGit' in program && program.isGit;
}

/** Removes all records of a loop in this workspace. */
export async function forgetRecords({ id }: Pick<Spec, 'id'>, workspace: string): Promise<void> {
  await ignoringErrors(workspace, (repository) => removeRecords(repository, id));
}

/** How many bytes `git gc` will free without the records of a loop in this workspace; 0 if git cannot say. */
export async function spaceOfRecords({ id }: Pick<Spec, 'id'>, workspace: string): Promise<number> {
  return (await ignoringErrors(workspace, (repository) => sizeOfRecords(repository, id))) ?? 0;
}

/** Keeps the last record of an archived loop, which has the others as ancestors. */
export async function putRecordsAside({ id }: Pick<Spec, 'id'>, workspace: string): Promise<void> {
  await ignoringErrors(workspace, (repository) => thinRecords(repository, id));
}

async function ignoringErrors<T>(
  workspace: string,
  work: (repository: Repository) => Promise<T>,
): Promise<T | null> {
  if (!isInRepository(workspace)) return null;
  try {
    return await work({
      command: ['git'],
      folder: workspace,
      env: nonInteractiveEnv(startersEnvironment(process.env)),
      enclose: enclosing(null),
    });
  } catch {
    // Records that stay do no harm.
    return null;
  }
}

/** The ref of the record of a loop's start. */
export function startRef({ id }: Spec): string {
  return recordName(id, 'start');
}

interface StartSpec extends StartedLoop {
  readonly policy: Policy;
  readonly say?: ((line: string) => void) | undefined;
  /** Whether an agent has run already. */
  readonly hasRun: boolean;
  /** Whether the loop has just got its id, so that it can have no record yet; absent means no. */
  readonly isNew?: boolean;
}

/** Refuses a loop that signs its commits with a key that its sandbox hides: every commit would fail, hours later. */
async function refuseHiddenKey(
  repository: Repository,
  sandbox: SandboxPolicy | null,
  { isResumed }: { readonly isResumed: boolean },
): Promise<void> {
  const setting = async (...words: readonly string[]): Promise<string> =>
    (await execGit(repository, ['config', ...words])).stdout.toString('utf8').trim();
  if ((await setting('--type=bool', '--get', 'commit.gpgSign')) !== 'true') return;
  const { HOME: home = '/', GNUPGHOME } = repository.env;
  const isSsh = (await setting('--get', 'gpg.format')) === 'ssh';
  const named = isSsh ? await setting('--type=path', '--get', 'user.signingKey') : '';
  // A key that is given as text is asked for from an agent, which a sandbox hides like the keys.
  const ssh = /^(?:key::|ssh-)/.test(named) || named === '' ? join(home, '.ssh') : resolve(home, named);
  const place = isSsh ? ssh : (GNUPGHOME ?? join(home, '.gnupg'));
  if (!(await isHidden(sandbox, repository, place))) return;
  const remedy = isResumed
    ? 'switch that off in the repository (git config commit.gpgSign false), or start a new loop with other settings, since this one keeps those that it has'
    : `do not sign those of loops (in the settings: "scm": { "command": "git -c commit.gpgSign=false" }), or add ${place} to sandbox.write, where the agent can use it too`;
  throw new UserError(
    `commits are signed here (commit.gpgSign), and the sandbox hides the key (${place}): ${remedy}`,
  );
}
