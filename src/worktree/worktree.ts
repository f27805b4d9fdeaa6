/** The tree of its own that a loop works in, where it has one. */
import { existsSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import type { Spec, Worktree } from '../store/spec.ts';
import { GitError, resolve, tell, type Repository } from '../git/git.ts';
import {
  isInside,
  isWhole,
  ownerOfBranch,
  ownerOfTree,
  removeBranch,
  removeTree,
  treeAt,
  type LinkedTree,
} from '../git/worktree.ts';
import type { Work } from '../git/work.ts';
import type { Policy } from '../loop/policy.ts';
import { gitIn } from '../scm/git.ts';
import { UserError } from '../user-error.ts';
import { shellQuote } from '../process/shell-quote.ts';

type Environment = Readonly<Record<string, string>>;

/** Takes a tree and its branch away, whatever is in them, as far as they are there. */
export async function discard(
  repository: Repository,
  { path, branch }: Pick<Worktree, 'path' | 'branch'>,
): Promise<void> {
  await removeTree(repository, mergeFolder(path));
  await removeTree(repository, path);
  await removeBranch(repository, branch);
}

/** Where a merge is tried out; a loop's name never begins like this. */
export function mergeFolder(path: string): string {
  return join(path, '..', `.merge-${basename(path)}`);
}

/** `2 uncommitted changes, 1 commit`. */
export function describeWork({ changes, hidden, commits, submodules, trouble }: Work): string {
  return [
    ...(trouble !== null ? ['whatever is in the folder'] : []),
    ...(changes > 0 ? [`${count(changes, 'uncommitted change')}${unseen(hidden)}`] : []),
    ...(commits > 0 ? [count(commits, 'unmerged commit')] : []),
    ...(submodules.length > 0 ? [`unpushed commits in ${submodules.join(', ')}`] : []),
  ].join(', ');
}

/** What nobody would find with `git status`. */
function unseen(files: readonly string[]): string {
  return files.length === 0
    ? ''
    : ` (git status shows ${files.join(', ')} only after git update-index --no-assume-unchanged, or --no-skip-worktree)`;
}

/** `2 things`. */
export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** Whether a loop's tree is there and is still its own. */
export async function isOwn(spec: Spec, env: Environment): Promise<boolean> {
  return (await worktreeStatus(spec, env)) === 'own';
}

/** Whether something is there that is a loop's tree, or was. */
export async function hasTree(spec: Spec, env: Environment): Promise<boolean> {
  return ['own', 'broken'].includes(await worktreeStatus(spec, env));
}

/**
 * What is at the place of a loop's tree: its own; a folder that was its own and has lost its tie to the repository; none,
 * though the repository has it on its list; or nothing of this loop's.
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
  // One that was removed and brought back by hand is signed by nobody.
  const isOurs =
    owner === null
      ? tree.branch === branch && (await ownerOfBranch(repository, branch)) === id
      : owner.id === id;
  if (!isOurs) return 'none';
  if (!existsSync(path)) return 'gone';
  return (await isWhole(repository, path)) ? 'own' : 'broken';
}

/** Whether a loop's branch is there, and is neither another loop's by now nor one that its user has made. */
export async function ownsBranch({ worktree, workspace, id }: Spec, env: Environment): Promise<boolean> {
  if (worktree === undefined) return false;
  const { path, branch } = worktree;
  const repository = gitIn(workspace, env);
  if ((await tipOf(repository, branch)) === null) return false;
  const owner = (await ownerOfBranch(repository, branch)) ?? (await ownerOfTree(repository, path))?.id;
  return owner === id;
}

/** Why a folder that git cannot speak for is not removed, and what to do about it. */
export function brokenTree(path: string, trouble: string, discardWith: string): UserError {
  return new UserError(
    [
      `nobody can tell what in ${path} is new, it is no sound worktree any more: ${trouble}`,
      `mend it    git worktree repair`,
      `keep it    mv ${shellQuote(path)} SOMEWHERE`,
      `discard    ${discardWith}      (removes the folder with all that is in it)`,
    ].join('\n  '),
  );
}

/** Where there is no repository any more, there is no tree of it either. */
async function findTree(repository: Repository, path: string): Promise<LinkedTree | null> {
  try {
    return await treeAt(repository, path);
  } catch (error) {
    if (error instanceof GitError) return null;
    throw error;
  }
}

/** Refuses to go on with a loop whose tree is gone. */
export async function requireWorktree(spec: Spec, env: Environment): Promise<void> {
  const { worktree, name } = spec;
  if (worktree === undefined || (existsSync(worktree.folder) && (await isOwn(spec, env)))) return;
  const { path, branch } = worktree;
  const where = shellQuote(path);
  if (existsSync(path)) {
    const owner = await ownerOfTree(gitIn(spec.workspace, env), path);
    throw new UserError(
      owner === null || owner.id === spec.id
        ? `${path}, where "${name}" works, is no worktree of ${spec.workspace} any more; if one of them was moved: git worktree repair ${where}`
        : `${path} is now the worktree of another loop, "${owner.name}"; "${name}" cannot go on there; start over with: ralph run --fresh`,
    );
  }
  throw new UserError(
    `the worktree of "${name}" is gone: ${path}; its commits are on the branch ${branch}. ` +
      `Bring it back with: git worktree prune && git worktree add ${where} ${branch}, then go on with: ralph resume ${name}`,
  );
}

/** A file that a user names stands for one in the tree that the agent works in. */
export function inTree(policy: Policy, workspace: string, { folder }: Worktree): Policy {
  const moved = (file: string): string =>
    isInside(workspace, file) && !isInside(join(workspace, '.ralph'), file)
      ? join(folder, relative(workspace, file))
      : file;
  const detectors = policy.completion.detectors.map((detector) =>
    detector.kind === 'marker' ? { ...detector, file: moved(detector.file) } : detector,
  );
  return { ...policy, completion: { ...policy.completion, detectors } };
}

/** The last commit of a branch; null where there is none. */
export function tipOf(repository: Repository, branch: string): Promise<string | null> {
  return resolve(repository, `refs/heads/${branch}^{commit}`);
}

/** How many commits one has that the other has not. */
export async function ahead(repository: Repository, from: string, to: string): Promise<number> {
  return Number(await tell(repository, ['rev-list', '--count', `${from}..${to}`]));
}
