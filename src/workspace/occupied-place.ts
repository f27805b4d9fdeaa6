/**
 * A place for a loop's worktree that is already occupied: by a worktree, by its branch, or by other files.
 *
 * 1. A place is refused if a loop uses it, if another loop could still be resumed in it, if it has work that is saved
 *    nowhere else, or if it holds anything else than a worktree of this repository.
 * 2. Otherwise the old worktree and its branch can be removed; a branch of the user that was named stays and is used.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { LoopFolder } from '../home/home.ts';
import type { Worktree } from '../home/spec.ts';
import type { Repository } from '../git/git.ts';
import { isInside } from '../files/files.ts';
import {
  branchOf,
  hasBranch,
  listTrees,
  ownerOfBranch,
  ownerOfTree,
  treeAt,
  type LinkedTree,
  type TreeOwner,
} from '../git/worktree.ts';
import { hasNoWork, lostWith, type Work } from '../git/work.ts';
import { processes } from '../process/process.ts';
import { orphanOf } from '../home/orphan.ts';
import { killAll } from '../process/stop.ts';
import type { Marker } from '../process/process-table.ts';
import { UserError } from '../user-error.ts';
import { shellQuote, mergeByHand } from '../loop/shell-quote.ts';
import {
  findFolder,
  liveOwner,
  readAllLoops,
  readLoopAt,
  readLoops,
  type LoopReading,
} from '../home/read-loop.ts';
import { readSetUpTree } from './set-up.ts';
import { brokenTree, describeWork, discard } from './worktree.ts';

/** Where a loop's worktree is, or would be. */
export interface Place {
  /** Git in the workspace. */
  readonly repository: Repository;
  /** The top of the workspace's tree. */
  readonly top: string;
  readonly path: string;
  readonly branch: string;
  /** The user has named the branch, so that a branch of this name may be the user's own. */
  readonly isNamed: boolean;
}

/** Refuses a place that cannot be cleared; changes nothing. `replaced` is the loop that is about to be archived. */
export async function refuseOccupiedPlace(place: Place, replaced: LoopReading | null): Promise<void> {
  const occupant = await occupantOf(place, replaced);
  if (occupant !== null) await refuseWork(place, occupant);
}

/** Refuses like `refuseOccupiedPlace`, then removes the old worktree and its branch. Needs the worktree lock. */
export async function clearPlace(place: Place, replaced: LoopReading | null, notes: string[]): Promise<void> {
  const { repository, path, branch } = place;
  const occupant = await occupantOf(place, replaced);
  if (occupant === null) return;
  // The process that started this git is gone, because we have the lock.
  if (occupant.tree?.isUnfinished === true) await killAll(() => processes.marked(creationMarker(path)));
  await refuseWork(place, occupant);
  await discard(repository, { path, branch });
  if (occupant.tree !== null)
    notes.push(`replaced the old worktree ${path}: everything in it is saved elsewhere`);
  else if (!(await hasBranch(repository, branch)))
    notes.push(`deleted the old branch ${branch}: it was already merged`);
}

/** Carried by the git that creates a tree, which survives when Ralph is killed. */
export function creationMarker(path: string): Marker {
  return { name: 'RALPH_WORKTREE', value: path };
}

interface Occupant {
  /** Null if only the branch exists. */
  readonly tree: LinkedTree | null;
  /** The loop that the tree belongs to, if known. */
  readonly loop: LoopReading | null;
}

/** What occupies a place; null if it is free. Refuses a place that is in use or not a worktree. */
async function occupantOf(place: Place, replaced: LoopReading | null): Promise<Occupant | null> {
  const { repository, path, branch } = place;
  const trees = await listTrees(repository);
  const tree = await treeAt(repository, path);
  const holder = trees.find((other) => other.branch === branch && other.path !== tree?.path);
  if (holder !== undefined && existsSync(holder.path)) {
    throw new UserError(
      `the branch ${branch} is checked out in ${holder.path}; a new worktree needs its own branch`,
    );
  }
  if (tree === null && hasFiles(path)) {
    throw new UserError(`${path} is in the way: it is not a worktree of this repository; move it elsewhere`);
  }
  const isThere = await hasBranch(repository, branch);
  if (tree === null && !isThere) return null;
  if (isThere && place.isNamed && (await ownerOfBranch(repository, branch)) === null) {
    // A branch of the user, which the new loop continues.
    if (tree === null) return null;
    if (tree.branch !== branch)
      throw new UserError(
        `${path} is a worktree on another branch than ${branch}, which is not of a loop; remove that worktree first, or choose another branch with: --branch`,
      );
  }
  const owner = await ownerOfTree(repository, path);
  const loop = loopOf(repository, path, owner);
  refuseUsed(path, owner, loop, replaced);
  return { tree, loop };
}

/** Whether a path is a file, or a folder that is not empty. */
function hasFiles(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (!found.isDirectory() || readdirSync(path).length > 0);
}

function loopOf(repository: Repository, path: string, owner: TreeOwner | null): LoopReading | null {
  const owned = owner === null ? null : folderOf(owner);
  if (owner !== null) return owned === null ? null : readLoopAt(owned);
  const known = [...readLoops(repository.folder), ...readAllLoops()];
  return known.find(({ spec }) => spec.worktree?.path === path) ?? null;
}

/** The note of a tree's owner is in the repository, so only the registry says whether there is such a loop. */
function folderOf({ id, name, workspace }: TreeOwner): LoopFolder | null {
  const folder = findFolder(workspace, name);
  return folder?.id === id ? folder : null;
}

/** Refuses a tree in which a loop is running, or which an unfinished loop needs to be resumed. */
function refuseUsed(
  path: string,
  owner: TreeOwner | null,
  loop: LoopReading | null,
  replaced: LoopReading | null,
): void {
  // A loop that has only just started has no journal yet.
  const folder = owner === null ? null : folderOf(owner);
  const pid = folder === null ? null : liveOwner(folder);
  if (owner !== null && pid !== null && pid !== process.pid) throw isRunningIn(path, owner, pid);
  for (const user of [loop, loopInside(path)]) {
    if (user === null) continue;
    const { spec } = user;
    if (user.owner !== null && user.owner !== process.pid) throw isRunningIn(path, spec, user.owner);
    if (spec.id === replaced?.spec.id || user.owner === process.pid) continue;
    const agent = orphanOf(user);
    if (agent !== null) {
      throw new UserError(
        `the agent of ${nameOf(spec)} (process ${agent}) is still running in ${path}; stop it with: ralph stop ${spec.name}`,
      );
    }
    if (user.state.outcome === null) {
      throw new UserError(
        `${path} is the worktree of ${nameOf(spec)}, which is not finished; resume it with: ralph resume ${spec.name}, or discard the worktree with: ralph worktree rm ${spec.name}`,
      );
    }
  }
}

type NamedLoop = Pick<TreeOwner, 'name' | 'workspace'>;

function nameOf({ name, workspace }: NamedLoop): string {
  return `the loop "${name}" of ${workspace}`;
}

function isRunningIn(path: string, loop: NamedLoop, pid: number): UserError {
  return new UserError(
    `${nameOf(loop)} is running in ${path} (process ${pid}); stop it with: ralph stop ${loop.name}`,
  );
}

/** The running loop whose workspace is a tree or a folder in it. */
function loopInside(path: string): LoopReading | null {
  const isIn = (folder: string): boolean => folder === path || isInside(path, folder);
  return readAllLoops().find(({ spec, owner }) => owner !== null && isIn(spec.workspace)) ?? null;
}

/** Refuses to remove a tree that is the workspace of a running loop. */
export function refuseInside(path: string): void {
  const loop = loopInside(path);
  if (loop === null) return;
  const { name, workspace } = loop.spec;
  throw new UserError(
    `${nameOf(loop.spec)} is running in ${path} (process ${loop.owner ?? '?'}); stop it first: ralph stop ${name} --cwd ${shellQuote(workspace)}`,
  );
}

/** Refuses a tree or a branch with work that is saved nowhere else. */
async function refuseWork(place: Place, { loop }: Occupant): Promise<void> {
  const { repository, path, branch } = place;
  const work = await lostWith(repository, place, loop === null ? null : readSetUpTree(loop));
  if (hasNoWork(work)) return;
  const subject = await subjectOf(repository, { path, branch }, loop);
  if (work.trouble === null) throw hasWork(subject, work);
  // Git does not remove a folder that is no longer a valid worktree.
  const first = loop === null ? `rm -rf ${shellQuote(path)} && ` : '';
  throw brokenTree(path, work.trouble, `${first}${discardCommand(subject)}`);
}

interface Subject {
  readonly path: string;
  readonly branch: string;
  readonly base: string;
  /** The loop's name and options, as commands take them here. */
  readonly loop: string | null;
}

async function subjectOf(
  repository: Repository,
  { path, branch }: Pick<Worktree, 'path' | 'branch'>,
  loop: LoopReading | null,
): Promise<Subject> {
  const base = loop?.spec.worktree?.from ?? (await branchOf(repository)) ?? 'HEAD';
  const elsewhere =
    loop === null || loop.spec.workspace === repository.folder
      ? ''
      : ` --cwd ${shellQuote(loop.spec.workspace)}`;
  return { path, branch, base, loop: loop === null ? null : `${loop.spec.name}${elsewhere}` };
}

function hasWork({ path, branch, base, loop }: Subject, work: Work): UserError {
  const lines = [
    `the worktree ${path} (branch ${branch}) has work that is saved nowhere else: ${describeWork(work)}`,
    ...(work.changes > 0 ? [`look       git -C ${shellQuote(path)} status`] : []),
    ...(work.commits > 0 ? [`look       git log ${base}..${branch}`] : []),
    ...work.submodules.map((one) =>
      existsSync(join(path, one, '.git'))
        ? `push       git -C ${shellQuote(join(path, one))} push`
        : `bring back git -C ${shellQuote(path)} submodule update --init ${shellQuote(one)}`,
    ),
    loop === null
      ? `merge      ${mergeByHand(branch)}`
      : `merge      ralph worktree merge ${loop}      (commits the rest, then tries the merge and the checks)`,
    `discard    ${discardCommand({ path, branch, loop })}`,
  ];
  return new UserError(lines.join('\n  '));
}

function discardCommand({ path, branch, loop }: Omit<Subject, 'base'>): string {
  // --force twice, because a half-made worktree is locked.
  return loop === null
    ? `git worktree remove --force --force ${shellQuote(path)} && git branch -D ${shellQuote(branch)}`
    : `ralph worktree rm ${loop} --force`;
}
