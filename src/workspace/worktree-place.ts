/**
 * Finds the place of a loop's worktree, and creates the worktree there.
 *
 * 1. Work that is saved nowhere else is never removed, except with `ralph worktree rm --force`.
 * 2. A worktree that cannot be created is refused before the loop is created; the loop never runs in the main tree instead.
 * 3. A worktree outlives its loop: only the user removes it, or the next loop that needs its place if it has no work.
 */
import { existsSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import type { Worktree } from '../home/spec.ts';
import { GitError, resolveRevision } from '../git/git.ts';
import { GitMissing } from '../git/git-error.ts';
import { problemWithFolder, problemWithIdentity } from '../git/state.ts';
import {
  addTree,
  branchOf,
  hasBranch,
  isTaken,
  keepBranch,
  refPart,
  setTreeOwner,
  topOf,
  type TreeOwner,
} from '../git/worktree.ts';
import { changedFiles } from '../git/work.ts';
import type { Policy } from '../loop/policy.ts';
import { isCommit } from '../loop/words.ts';
import { UserError } from '../user-error.ts';
import type { LoopReading } from '../home/read-loop.ts';
import { scmProgram, gitIn, withGitErrorsForUser } from './user-git.ts';
import { clearPlace, creationMarker, type Place } from './occupied-place.ts';
import { discard, hasTree } from './worktree.ts';
import { withWorktreeLock } from './worktree-lock.ts';
import { counted } from '../loop/counted.ts';
import type { Environment } from '../process/process.ts';

/** Refuses a workspace that cannot have a worktree, before the loop is created. */
export async function refuseWorktree({ commit }: Policy, workspace: string, env: Environment): Promise<void> {
  const repository = gitIn(workspace, env);
  const problem = await withGitErrorsForUser(() => problemWithFolder(repository).catch(needsGit));
  if (problem !== null) throw new NoRepository(problem);
  if ((await resolveRevision(repository, 'HEAD^{commit}')) === null) {
    throw new UserError(
      `--worktree needs a commit to start from, but there is none yet; create one with: git add --all && git commit --allow-empty -m begin`,
    );
  }
  const inside = relative(await topOf(repository), workspace);
  if (inside !== '' && (await resolveRevision(repository, `HEAD:${inside}`)) === null) {
    throw new UserError(
      `${workspace} is not in the last commit, so a worktree would not have it; commit it first, or run ralph elsewhere (--cwd)`,
    );
  }
  if (commit === null || !commit.tasks.some(isCommit)) return;
  const program = scmProgram(commit, workspace, env);
  if ('problem' in program) throw new UserError(program.problem);
  const unknownIdentity = program.isGit
    ? await problemWithIdentity({ ...repository, command: program.command })
    : null;
  if (unknownIdentity !== null) throw new UserError(`cannot commit: ${unknownIdentity}`);
}

function needsGit(error: unknown): never {
  if (!(error instanceof GitMissing)) throw error;
  throw new UserError(`--worktree needs git: ${error.message}`, 2, { cause: error });
}

/** The place for the worktree of a loop with this name. */
export async function placeFor(
  { worktree }: Policy,
  name: string,
  workspace: string,
  env: Environment,
  asked: AskedPlace = {},
): Promise<Place> {
  const repository = gitIn(workspace, env);
  const top = await topOf(repository);
  const filled = (text: string, part: (word: string) => string): string =>
    text.replaceAll('{name}', part(name)).replaceAll('{repository}', part(basename(top)));
  return {
    repository,
    top,
    path: asked.folder === undefined ? join(top, filled(worktree.path, String)) : join(asked.folder, name),
    branch: filled(asked.branch ?? worktree.branch, refPart),
    isNamed: asked.branch !== undefined,
  };
}

/** What the user wants instead of the place in the policy. */
export interface AskedPlace {
  /** The folder for the worktree, which gets the name of the loop; absolute. */
  readonly folder?: string;
  /** `{name}` stands for the name of the loop. */
  readonly branch?: string;
}

/** Creates a worktree for a loop, in place of an old one without work; adds notes for the user. */
export async function makeWorktree(place: Place, owner: TreeOwner, notes: string[]): Promise<Worktree> {
  const { repository, path, top } = place;
  await withWorktreeLock(repository, async () => {
    await clearPlace(place, null, notes);
    await addOwnedTree(place, owner, notes);
  });
  const except = [':(exclude,top,glob)**/.ralph/**'];
  const changes = (await changedFiles({ ...repository, folder: top }, { except })).length;
  if (changes > 0) {
    notes.push(
      `the workspace has ${counted(changes, 'uncommitted change')}; the worktree starts from the last commit, without ${changes === 1 ? 'it' : 'them'}`,
    );
  }
  if (existsSync(join(path, '.gitmodules'))) {
    notes.push(
      'submodules are empty in a new worktree; to fetch them, put "setup": ["git submodule update --init --recursive"] in the settings',
    );
  }
  const folder = join(path, relative(top, repository.folder));
  return { path, branch: place.branch, from: await branchOf(repository), folder };
}

/** Removes the worktree of a loop that is about to be archived; refuses if it is needed. */
export async function freePlace(place: Place, replaced: LoopReading, notes: string[]): Promise<void> {
  await withWorktreeLock(place.repository, () => clearPlace(place, replaced, notes));
}

async function addOwnedTree(place: Place, owner: TreeOwner, notes: string[]): Promise<void> {
  const { repository, path, branch } = place;
  const { name, value } = creationMarker(path);
  const marked = { ...repository, env: { ...repository.env, [name]: value } };
  try {
    const isKept = place.isNamed && (await hasBranch(repository, branch));
    // Before anything that may fail: what cleans up after a failure must not remove it.
    if (isKept) await keepBranch(repository, branch);
    await addTree(marked, { path, branch, at: isKept ? null : 'HEAD' });
    await setTreeOwner(repository, path, owner);
    if (isKept)
      notes.push(`works on the existing branch ${branch}, which stays when the worktree is removed`);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    // A failed hook or a full disk leaves a half-made tree.
    if (!isTaken(error)) await discard(repository, { path, branch });
    throw new TreeNotMade(path, error);
  }
}

/** The workspace is in no repository that could have a worktree. */
export class NoRepository extends UserError {
  readonly why: string;

  constructor(why: string) {
    super(`--worktree needs a git repository: ${why}`);
    this.why = why;
  }
}

/** Git could not create the worktree. */
export class TreeNotMade extends UserError {
  readonly why: string;

  constructor(path: string, cause: GitError) {
    super(`cannot create the worktree ${path}: ${cause.message}`, 2, { cause });
    this.why = cause.message;
  }
}

/** Refuses to archive a loop whose worktree would stay behind, where commands could no longer find it by name. */
export async function refuseToStrand(
  { spec }: LoopReading,
  place: Place | null,
  env: Environment,
): Promise<void> {
  const { worktree, name } = spec;
  if (worktree === undefined || worktree.path === place?.path) return;
  if (!(await hasTree(spec, env))) return;
  throw new UserError(
    `the earlier loop "${name}" still has its worktree ${worktree.path}; merge it with: ralph worktree merge ${name}, remove it with: ralph worktree rm ${name}, or use another --name`,
  );
}
