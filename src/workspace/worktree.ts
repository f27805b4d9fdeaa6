/** The worktree of a loop: its state, and whether it still belongs to that loop. */
import { existsSync } from 'node:fs';
import { basename, isAbsolute, join, relative } from 'node:path';
import type { Spec, Worktree } from '../home/spec.ts';
import { GitError, gitOutput, resolveRevision, type Repository } from '../git/git.ts';
import { isInside } from '../files/files.ts';
import {
  isValidTree,
  ownerOfBranch,
  ownerOfTree,
  removeBranch,
  removeTree,
  treeAt,
  type LinkedTree,
} from '../git/worktree.ts';
import type { Work } from '../git/work.ts';
import type { Policy } from '../loop/policy.ts';
import { gitIn } from './user-git.ts';
import { UserError } from '../user-error.ts';
import { shellQuote } from '../loop/shell-quote.ts';
import { counted } from '../loop/counted.ts';
import type { Environment } from '../process/process.ts';

/** Removes a worktree and its branch, if they exist, whatever is in them. */
export async function discard(
  repository: Repository,
  { path, branch }: Pick<Worktree, 'path' | 'branch'>,
): Promise<void> {
  await removeTree(repository, mergeFolder(path));
  await removeTree(repository, path);
  await removeBranch(repository, branch);
}

/** Where a merge is tried. A loop's name never starts with a dot. */
export function mergeFolder(path: string): string {
  return join(path, '..', `.merge-${basename(path)}`);
}

/** `2 uncommitted changes, 1 unmerged commit`. */
export function describeWork({ changes, hidden, commits, submodules, trouble }: Work): string {
  return [
    ...(trouble !== null ? ['everything in the folder'] : []),
    ...(changes > 0 ? [`${counted(changes, 'uncommitted change')}${hiddenNote(hidden)}`] : []),
    ...(commits > 0 ? [counted(commits, 'unmerged commit')] : []),
    ...(submodules.length > 0 ? [`unpushed commits in ${submodules.join(', ')}`] : []),
  ].join(', ');
}

/** How to see the changes that `git status` hides. */
function hiddenNote(files: readonly string[]): string {
  return files.length === 0
    ? ''
    : ` (git status shows ${files.join(', ')} only after git update-index --no-assume-unchanged, or --no-skip-worktree)`;
}

/** Whether a loop's worktree exists and still belongs to it. */
export async function isOwn(spec: Spec, env: Environment): Promise<boolean> {
  return (await worktreeStatus(spec, env)) === 'own';
}

/** Whether a loop's worktree exists, valid or broken. */
export async function hasTree(spec: Spec, env: Environment): Promise<boolean> {
  return ['own', 'broken'].includes(await worktreeStatus(spec, env));
}

/**
 * What is at the path of a loop's worktree: `own`, its worktree; `broken`, a folder that is no longer a valid worktree;
 * `gone`, only the registration in the repository; `none`, nothing that belongs to this loop.
 */
export async function worktreeStatus(
  spec: Spec,
  env: Environment,
): Promise<'own' | 'broken' | 'gone' | 'none'> {
  const { worktree, workspace, id } = spec;
  if (worktree === undefined) return 'none';
  const { path, branch } = worktree;
  const repository = gitIn(workspace, env);
  const tree = await findTree(repository, path);
  if (tree === null) return 'none';
  const owner = await ownerOfTree(repository, path);
  // A worktree that the user removed and added again has no owner noted.
  const belongsToLoop =
    owner === null
      ? tree.branch === branch && (await ownerOfBranch(repository, branch)) === id
      : owner.id === id;
  if (!belongsToLoop) return 'none';
  if (!existsSync(path)) return 'gone';
  return (await isValidTree(repository, path)) ? 'own' : 'broken';
}

/** Whether a loop's branch exists and belongs neither to another loop nor to the user. */
export async function ownsBranch({ worktree, workspace, id }: Spec, env: Environment): Promise<boolean> {
  if (worktree === undefined) return false;
  const { path, branch } = worktree;
  const repository = gitIn(workspace, env);
  if ((await tipOf(repository, branch)) === null) return false;
  const owner = (await ownerOfBranch(repository, branch)) ?? (await ownerOfTree(repository, path))?.id;
  return owner === id;
}

/** The error for a folder that is no longer a valid worktree, so that its changes are unknown. */
export function brokenTree(path: string, trouble: string, discardWith: string): UserError {
  return new UserError(
    [
      `cannot inspect ${path}: it is no longer a valid git worktree: ${trouble}`,
      `repair     git worktree repair`,
      `keep       mv ${shellQuote(path)} SOMEWHERE`,
      `discard    ${discardWith}      (removes the folder and everything in it)`,
    ].join('\n  '),
  );
}

/** Null also if the repository itself is gone. */
async function findTree(repository: Repository, path: string): Promise<LinkedTree | null> {
  try {
    return await treeAt(repository, path);
  } catch (error) {
    if (error instanceof GitError) return null;
    throw error;
  }
}

/** Refuses to resume a loop whose worktree is gone. */
export async function requireWorktree(spec: Spec, env: Environment): Promise<void> {
  const { worktree, name } = spec;
  if (worktree === undefined || (existsSync(worktree.folder) && (await isOwn(spec, env)))) return;
  const { path, branch } = worktree;
  const quotedPath = shellQuote(path);
  if (existsSync(path)) {
    const owner = await ownerOfTree(gitIn(spec.workspace, env), path);
    throw new UserError(
      owner === null || owner.id === spec.id
        ? `${path}, the worktree of "${name}", is no longer a worktree of ${spec.workspace}; if one of them was moved, run: git worktree repair ${quotedPath}`
        : `${path} is now the worktree of another loop, "${owner.name}", so "${name}" cannot be resumed; start over with: ralph run --name ${name} --fresh …`,
    );
  }
  throw new UserError(
    `the worktree of "${name}" is gone: ${path}; its commits are on the branch ${branch}. ` +
      `Restore it with: git worktree prune && git worktree add ${quotedPath} ${shellQuote(branch)}, then run: ralph resume ${name}`,
  );
}

/** Moves the marker files of a policy from the workspace to the worktree, but not those in the loop's folder. */
export function inTree(policy: Policy, workspace: string, { folder }: Worktree): Policy {
  const moved = (file: string): string =>
    isAbsolute(file) && isInside(workspace, file) && !isInside(join(workspace, '.ralph'), file)
      ? join(folder, relative(workspace, file))
      : file;
  const detectors = policy.completion.detectors.map((detector) =>
    detector.kind === 'marker' ? { ...detector, file: moved(detector.file) } : detector,
  );
  return { ...policy, completion: { ...policy.completion, detectors } };
}

/** The last commit of a branch; null if the branch does not exist. */
export function tipOf(repository: Repository, branch: string): Promise<string | null> {
  return resolveRevision(repository, `refs/heads/${branch}^{commit}`);
}

/** How many commits `to` has that `from` does not have. */
export async function ahead(repository: Repository, from: string, to: string): Promise<number> {
  return Number(await gitOutput(repository, ['rev-list', '--count', `${from}..${to}`]));
}
