/**
 * The place of a loop's tree: whether it can be had, and what is there already.
 *
 * 1. Work that is nowhere else is never removed, except by somebody who says so: `ralph worktree rm --force`.
 * 2. What cannot be had is refused before anything of the loop is there; nobody ever works in the main tree instead.
 * 3. A tree outlives its loop's end: only people remove it, or the next loop that needs its place and finds nothing in it.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { loopFolder } from '../store/store.ts';
import type { Worktree } from '../store/spec.ts';
import { GitError, resolve, type Repository } from '../git/git.ts';
import { problemWithPlace, problemWithWho } from '../git/state.ts';
import {
  addTree,
  branchOf,
  isInside,
  isTaken,
  listTrees,
  ownerOfTree,
  refPart,
  signTree,
  topOf,
  treeAt,
  type TreeOwner,
} from '../git/worktree.ts';
import { changedFiles, isNothing, workIn, type Work } from '../git/work.ts';
import type { Policy } from '../loop/policy.ts';
import { openRun } from '../loop/run.ts';
import { isCommit } from '../loop/words.ts';
import { processes } from '../process/process.ts';
import { killAll } from '../process/stop.ts';
import type { Marker } from '../process/process-table.ts';
import { UserError } from '../user-error.ts';
import { shellQuote } from '../process/shell-quote.ts';
import { liveOwner, readAllLoops, readLoopAt, readLoops, type LoopReading } from '../store/read-loop.ts';
import { scmProgram } from '../scm/program.ts';
import { inWords } from '../scm/git.ts';
import { withPlaces } from './lock-places.ts';
import { readSetUpTree } from './set-up.ts';
import { brokenTree, count, describeWork, discard, hasTree } from './worktree.ts';
import { gitIn } from '../scm/git.ts';

type Environment = Readonly<Record<string, string>>;

/** Refuses what could never work, before anything of the loop is there. */
export async function refuseWorktree({ commit }: Policy, workspace: string, env: Environment): Promise<void> {
  const repository = gitIn(workspace, env);
  const problem = await inWords(() => problemWithPlace(repository));
  if (problem !== null) throw new UserError(`--worktree needs a git repository: ${problem}`);
  if ((await resolve(repository, 'HEAD^{commit}')) === null) {
    throw new UserError(
      `--worktree needs a commit to begin at, and there is none yet; make one with: git add --all && git commit -m begin`,
    );
  }
  const inside = relative(await topOf(repository), workspace);
  if (inside !== '' && (await resolve(repository, `HEAD:${inside}`)) === null) {
    throw new UserError(
      `${workspace} is not in the last commit, so it would not be in a worktree; commit it first, or run ralph elsewhere (--cwd)`,
    );
  }
  if (commit === null || !commit.tasks.some(isCommit)) return;
  const program = scmProgram(commit, workspace, env);
  if ('problem' in program) throw new UserError(program.problem);
  const nobody = program.isGit ? await problemWithWho({ ...repository, command: program.command }) : null;
  if (nobody !== null) throw new UserError(`cannot commit: ${nobody}`);
}

/** Where the tree of a loop of this name is, or would be. */
export async function placeFor(
  { worktree }: Policy,
  name: string,
  workspace: string,
  env: Environment,
): Promise<Place> {
  const repository = gitIn(workspace, env);
  const top = await topOf(repository);
  const filled = (text: string, part: (word: string) => string): string =>
    text.replaceAll('{name}', part(name)).replaceAll('{repository}', part(basename(top)));
  return {
    repository,
    top,
    path: join(top, filled(worktree.path, String)),
    branch: filled(worktree.branch, refPart),
  };
}

export interface Place {
  /** In the workspace. */
  readonly repository: Repository;
  readonly top: string;
  readonly path: string;
  readonly branch: string;
}

/** Makes a tree for a loop where there is none, or none with anything in it; tells what its user should know. */
export async function makeWorktree(place: Place, owner: TreeOwner, notes: string[]): Promise<Worktree> {
  const { repository, path, top } = place;
  await withPlaces(repository, async () => {
    await clearPlace(place, notes, null);
    await addSigned(place, owner);
  });
  const except = [':(exclude,top,glob)**/.ralph/**'];
  const changes = (await changedFiles({ ...repository, folder: top }, { except })).length;
  if (changes > 0) {
    notes.push(
      `the workspace has ${count(changes, 'uncommitted change')}, which the worktree does not have: it begins at the last commit`,
    );
  }
  if (existsSync(join(path, '.gitmodules'))) {
    notes.push(
      'submodules are empty in a new worktree; with "setup": ["git submodule update --init --recursive"] in the settings they are not',
    );
  }
  const folder = join(path, relative(top, repository.folder));
  return { path, branch: place.branch, from: await branchOf(repository), folder };
}

/** Removes the tree of a loop that is about to be put aside, if nobody needs it. */
export async function freePlace(place: Place, replaced: LoopReading, notes: string[]): Promise<void> {
  await withPlaces(place.repository, () => clearPlace(place, notes, replaced));
}

async function addSigned({ repository, path, branch }: Place, owner: TreeOwner): Promise<void> {
  const { name, value } = makingOf(path);
  const marked = { ...repository, env: { ...repository.env, [name]: value } };
  try {
    await addTree(marked, { path, branch, at: 'HEAD' });
    await signTree(repository, path, owner);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    // Half of it may be there: a hook has failed, or the disk is full.
    if (!isTaken(error)) await discard(repository, { path, branch });
    throw new UserError(`the worktree ${path} cannot be made: ${error.message}`, 2, { cause: error });
  }
}

/** Carried by the git that makes a tree: it lives on when we are killed. */
function makingOf(path: string): Marker {
  return { name: 'RALPH_WORKTREE', value: path };
}

/**
 * Refuses a place that somebody needs; one that nobody needs is free afterwards. `replaced` is the loop that is about to
 * be put aside, with its tree.
 */
export async function clearPlace(
  place: Place,
  notes: string[] | null,
  replaced: LoopReading | null,
): Promise<void> {
  const { repository, path, branch } = place;
  const trees = await listTrees(repository);
  const there = await treeAt(repository, path);
  const holder = trees.find((tree) => tree.branch === branch && tree.path !== there?.path);
  if (holder !== undefined && existsSync(holder.path)) {
    throw new UserError(
      `the branch ${branch} is checked out in ${holder.path}; a worktree needs one of its own`,
    );
  }
  if (there === null && isInTheWay(path)) {
    throw new UserError(`${path} is in the way: it is no worktree of this repository; move it elsewhere`);
  }
  const hasBranch = (await resolve(repository, `refs/heads/${branch}`)) !== null;
  if (there === null && !hasBranch) return;
  const owner = await ownerOfTree(repository, path);
  const user = userOf(repository, path, owner);
  refuseUsed(path, owner, user, replaced);
  // Whoever had it made is gone, since we have the lock.
  if (notes !== null && there?.isUnfinished === true) await killAll(() => processes.marked(makingOf(path)));
  const work = await workIn(repository, place, user === null ? null : readSetUpTree(user));
  if (!isNothing(work)) {
    const subject = await about(repository, { path, branch }, user);
    if (work.trouble === null) throw hasWork(subject, work);
    // Git alone does not remove a folder that it cannot speak for.
    const first = user === null ? `rm -rf ${shellQuote(path)} && ` : '';
    throw brokenTree(path, work.trouble, `${first}${discarding(subject)}`);
  }
  if (notes === null) return;
  await discard(repository, { path, branch });
  notes.push(
    there === null
      ? `the branch ${branch} was merged already: it begins anew`
      : `the old worktree ${path} had nothing in it that is not elsewhere: it is made anew`,
  );
}

/** A folder with something in it, or a file. */
function isInTheWay(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (!found.isDirectory() || readdirSync(path).length > 0);
}

/** The loop that a tree belongs to; null where nobody knows. */
function userOf(repository: Repository, path: string, owner: TreeOwner | null): LoopReading | null {
  const loop = owner === null ? null : readLoopAt(loopFolder(owner.workspace, owner.name));
  if (loop !== null && loop.spec.id === owner?.id) return loop;
  const known = [...readLoops(repository.folder), ...readAllLoops()];
  return owner === null ? (known.find(({ spec }) => spec.worktree?.path === path) ?? null) : null;
}

/** Nobody's tree is taken away while they work in it, or may want to go on. */
function refuseUsed(
  path: string,
  owner: TreeOwner | null,
  user: LoopReading | null,
  replaced: LoopReading | null,
): void {
  // One that has only just begun has no journal yet.
  const pid = owner === null ? null : liveOwner(loopFolder(owner.workspace, owner.name));
  if (owner !== null && pid !== null && pid !== process.pid) {
    const who = `the loop "${owner.name}" of ${owner.workspace}`;
    throw new UserError(`${who} works in ${path} (process ${pid}); ralph stop ${owner.name} ends it`);
  }
  for (const loop of [user, loopInside(path)]) {
    if (loop === null) continue;
    const { name, workspace } = loop.spec;
    const who = `the loop "${name}" of ${workspace}`;
    const agent = openRun(loop.state)?.receipt ?? null;
    if (loop.owner !== null && loop.owner !== process.pid) {
      throw new UserError(`${who} works in ${path} (process ${loop.owner}); ralph stop ${name} ends it`);
    }
    if (loop.spec.id === replaced?.spec.id || loop.owner === process.pid) continue;
    if (agent !== null && processes.lives(agent)) {
      throw new UserError(
        `the agent of ${who} (process ${agent.pid}) is still at work in ${path}; ralph stop ${name} ends it`,
      );
    }
    if (loop.state.outcome === null) {
      throw new UserError(
        `${path} is the worktree of ${who}, which was not finished; go on with it: ralph resume ${name}, or discard it: ralph worktree rm ${name}`,
      );
    }
  }
}

/** The loop that is driven in a tree, or in a folder of it. */
function loopInside(path: string): LoopReading | null {
  const isIn = (folder: string): boolean => folder === path || isInside(path, folder);
  return readAllLoops().find(({ spec, owner }) => owner !== null && isIn(spec.workspace)) ?? null;
}

/** Nobody's tree is removed while a loop is driven in it that has its own workspace there. */
export function refuseInside(path: string): void {
  const loop = loopInside(path);
  if (loop === null) return;
  const { name, workspace } = loop.spec;
  throw new UserError(
    `the loop "${name}" of ${workspace} works in ${path} (process ${loop.owner ?? '?'}); end it first: ralph stop ${name} --cwd ${shellQuote(workspace)}`,
  );
}

interface About {
  readonly path: string;
  readonly branch: string;
  readonly base: string;
  /** The loop's name, as its commands take it here. */
  readonly loop: string | null;
}

async function about(
  repository: Repository,
  { path, branch }: Pick<Worktree, 'path' | 'branch'>,
  user: LoopReading | null,
): Promise<About> {
  const base = user?.spec.worktree?.from ?? (await branchOf(repository)) ?? 'HEAD';
  const elsewhere =
    user === null || user.spec.workspace === repository.folder
      ? ''
      : ` --cwd ${shellQuote(user.spec.workspace)}`;
  return { path, branch, base, loop: user === null ? null : `${user.spec.name}${elsewhere}` };
}

/** What is in a tree and on its branch, and what to do about it. */
function hasWork({ path, branch, base, loop }: About, work: Work): UserError {
  const lines = [
    `the worktree ${path} (branch ${branch}) has work that is nowhere else: ${describeWork(work)}`,
    ...(work.changes > 0 ? [`look       git -C ${shellQuote(path)} status`] : []),
    ...(work.commits > 0 ? [`look       git log ${base}..${branch}`] : []),
    ...work.submodules.map((one) =>
      existsSync(join(path, one, '.git'))
        ? `push       git -C ${shellQuote(join(path, one))} push`
        : `bring back git -C ${shellQuote(path)} submodule update --init ${shellQuote(one)}`,
    ),
    loop === null
      ? `merge      git merge ${branch}`
      : `merge      ralph worktree merge ${loop}      (commits what is left, tries the merge and the checks)`,
    `discard    ${discarding({ path, branch, loop })}`,
  ];
  return new UserError(lines.join('\n  '));
}

function discarding({ path, branch, loop }: Omit<About, 'base'>): string {
  // Twice, since one that nobody has finished to make is locked.
  return loop === null
    ? `git worktree remove --force --force ${shellQuote(path)} && git branch -D ${branch}`
    : `ralph worktree rm ${loop} --force`;
}

/** A loop that is put aside takes its name along: nobody would find its tree by it any more. */
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
