/**
 * The work of a loop's tree goes where its user works, once it is known to be good there.
 *
 * 1. The merge and the checks on its result happen in a tree that is made for it and always removed: whatever goes wrong,
 *    both sides are as they were.
 * 2. Only what was tried out is what the user's branch is moved to; if it has moved meanwhile, nothing is done.
 * 3. Nobody drives the loop meanwhile: we have its lock. What somebody who was killed left behind is removed first.
 */
import { existsSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { runCheck } from '../checks/check.ts';
import { checkSlug } from '../checks/slug.ts';
import type { Spec, Worktree } from '../store/spec.ts';
import { changesSince } from '../git/changes.ts';
import { prepareCommit, settle, takeBack } from '../git/commit.ts';
import { moveBranch } from '../git/move.ts';
import { ask, failed, resolve, type Repository } from '../git/git.ts';
import { problemWith } from '../git/state.ts';
import { writeTree } from '../git/tree.ts';
import { addTree, branchOf, removeTree, topOf } from '../git/worktree.ts';
import { processes } from '../process/process.ts';
import { killAll } from '../process/stop.ts';
import type { Marker } from '../process/process-table.ts';
import { UserError } from '../user-error.ts';
import { howItFailed } from '../store/end-record.ts';
import { lastLines } from '../store/excerpts.ts';
import { withIdleLoop } from '../recovery/idle-loop.ts';
import { shellQuote } from '../process/shell-quote.ts';
import type { LoopReading } from '../store/read-loop.ts';
import { checkMarker, runEnvironment } from '../store/run-environment.ts';
import { startOf } from '../scm/start.ts';
import { masked } from '../store/secrets.ts';
import { setUp } from './set-up.ts';
import { inWords } from '../scm/git.ts';
import { withPlaces } from './lock-places.ts';
import { ahead, isOwn, mergeFolder, ownsBranch, tipOf } from './worktree.ts';
import { gitIn } from '../scm/git.ts';

export interface MergeRequest {
  readonly env: Readonly<Record<string, string>>;
  /** Whether set-up and checks are run on the result. */
  readonly checks: boolean;
  readonly say: (line: string) => void;
  readonly interrupt: AbortSignal;
}

export interface Merged {
  readonly branch: string;
  readonly into: string;
  readonly commit: string;
  /** How many came in; none where everything was there already. */
  readonly commits: number;
}

/** Merges; what keeps it from being done is a `UserError`, with exit code 1 where it is the work itself. */
export async function mergeWorktree(loop: LoopReading, request: MergeRequest): Promise<Merged> {
  const { worktree } = loop.spec;
  if (worktree === undefined)
    throw new UserError(`"${loop.spec.name}" has no worktree: it works in the workspace`);
  return inWords(() => withIdleLoop(loop, () => new Merge(loop, worktree, request).carryOut()));
}

/** Removes what a merge that was killed has left behind. */
export async function tidyMerge(spec: Spec, { path }: Worktree, repository: Repository): Promise<void> {
  await killAll(() => processes.marked(mergeMarker(spec)));
  await removeTree(repository, mergeFolder(path));
  rmSync(mergeFolder(path), { recursive: true, force: true });
}

function mergeMarker(spec: Spec): Marker {
  return checkMarker(spec, 'merge');
}

class Merge {
  readonly #loop: LoopReading;
  readonly #worktree: Worktree;
  readonly #request: MergeRequest;
  /** In the workspace, where the user works. */
  readonly #here: Repository;
  /** Where it is tried out. */
  readonly #trial: Repository;

  constructor(loop: LoopReading, worktree: Worktree, request: MergeRequest) {
    this.#loop = loop;
    this.#worktree = worktree;
    this.#request = request;
    const { name, value } = mergeMarker(loop.spec);
    this.#here = gitIn(loop.spec.workspace, request.env);
    // Only what is tried out may be ended by whoever comes after us.
    const env = { ...this.#here.env, [name]: value };
    this.#trial = { ...this.#here, env, folder: mergeFolder(worktree.path), interrupt: request.interrupt };
  }

  async carryOut(): Promise<Merged> {
    const { branch } = this.#worktree;
    await tidyMerge(this.#loop.spec, this.#worktree, this.#here);
    const problem = await problemWith(this.#here);
    if (problem !== null) throw new UserError(`cannot merge into ${this.#here.folder}: ${problem}`);
    const into = (await branchOf(this.#here)) ?? '';
    if (into === branch)
      throw new UserError(
        `${branch} itself is checked out here; go to the branch that it shall be merged into: git switch NAME`,
      );
    await this.#refuseForeign();
    await this.#commitRest();
    const from = (await tipOf(this.#here, into)) ?? '';
    const commits = await ahead(this.#here, from, `refs/heads/${branch}`);
    if (commits === 0) return { branch, into, commit: from, commits };
    try {
      const commit = await this.#tryOut(from, into);
      await withPlaces(this.#here, () => this.#moveTo(commit, from, into));
      return { branch, into, commit, commits };
    } catch (error) {
      throw this.#request.interrupt.aborted ? new UserError('interrupted: nothing was merged', 130) : error;
    } finally {
      await tidyMerge(this.#loop.spec, this.#worktree, this.#here);
    }
  }

  /** By now the branch may be that of another loop, or of its user. */
  async #refuseForeign(): Promise<void> {
    const { spec } = this.#loop;
    const { branch } = this.#worktree;
    if (await ownsBranch(spec, this.#request.env)) return;
    if ((await tipOf(this.#here, branch)) === null)
      throw new UserError(`the branch ${branch} is gone: there is nothing to merge`);
    throw new UserError(
      `the branch ${branch} is not that of "${spec.name}" any more, which is gone; what is on it now can be merged with: git merge ${branch}`,
    );
  }

  /** What is not committed in the tree goes onto its branch: what the loop has changed, and not what its set-up has. */
  async #commitRest(): Promise<void> {
    const { spec, folder } = this.#loop;
    const { path, branch } = this.#worktree;
    if (!(await isOwn(spec, this.#request.env))) {
      // Its folder may have been removed by hand: the branch still has all that was committed.
      if (!existsSync(path)) return;
      throw new UserError(`${path} is not the worktree of "${spec.name}" any more`);
    }
    const tree: Repository = { ...this.#here, folder: path };
    const known = (await resolve(tree, startOf(spec))) === null ? 'HEAD' : startOf(spec);
    const place = join(folder.path, 'merge');
    const now = await writeTree(tree, join(place, 'index'));
    const changes = await changesSince(tree, { start: known, tree: now });
    const checkedOut = await branchOf(tree);
    if (checkedOut !== branch) {
      throw new UserError(
        `${path} is not on its branch ${branch} any more${checkedOut === null ? '' : `, but on ${checkedOut}`}; its commits go onto it with: git -C ${shellQuote(path)} switch -C ${branch}`,
      );
    }
    if (changes.length === 0) return;
    const problem = await problemWith(tree);
    if (problem !== null) throw new UserError(`cannot commit what is left in ${path}: ${problem}`);
    const message = `ralph: ${spec.name}, what was left in the worktree`;
    const { args, env } = await prepareCommit(tree, changes, { folder: place, message });
    const answer = await ask(tree, args, env);
    if (answer.code !== 0) {
      await takeBack(tree, place);
      throw new UserError(`what is left in ${path} cannot be committed: ${failed(args, answer).message}`, 1);
    }
    await settle(tree, place, (await resolve(tree, 'HEAD^{commit}')) ?? '');
    this.#request.say(`committed on ${branch} what was left in the worktree: ${changes.length} files`);
  }

  /** The merge and the checks in a tree of their own; the commit that has passed. */
  async #tryOut(from: string, into: string): Promise<string> {
    const { branch } = this.#worktree;
    const trial = this.#trial;
    const making = { ...trial, folder: this.#here.folder };
    await addTree(making, { path: trial.folder, branch: null, at: from });
    const args = ['merge', '--no-edit', '-m', `Merge branch '${branch}'`, `refs/heads/${branch}`];
    const answer = await ask(trial, args);
    if (answer.code !== 0) throw await this.#conflict(into, failed(args, answer).message);
    const commit = (await resolve(trial, 'HEAD^{commit}')) ?? '';
    await this.#refuseOverwriting(from, commit);
    if (this.#request.checks) await this.#check();
    return commit;
  }

  async #conflict(into: string, message: string): Promise<UserError> {
    const { path, branch } = this.#worktree;
    const { name } = this.#loop.spec;
    const files = (await lines(this.#trial, ['diff', '--name-only', '--diff-filter=U', '-z'])).join(', ');
    const what = files === '' ? message : `conflicts in ${files}`;
    return new UserError(
      [
        `${branch} cannot be merged into ${into}: ${what}. Both are as they were`,
        `go on      git -C ${shellQuote(path)} merge ${into}      (resolve, commit, then: ralph worktree merge ${name})`,
        `by hand    git merge ${branch}`,
      ].join('\n  '),
      1,
    );
  }

  /** Git would refuse it too, but only after the checks, which may take long. */
  async #refuseOverwriting(from: string, commit: string): Promise<void> {
    const changed = new Set(
      await lines(this.#here, ['diff', '--name-only', '-z', '--no-renames', from, commit]),
    );
    const top = { ...this.#here, folder: await topOf(this.#here) };
    const status = await lines(top, ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=all']);
    const files = status.map((entry) => entry.slice(3)).filter((file) => changed.has(file));
    if (files.length === 0) return;
    throw new UserError(
      `local changes would be overwritten: ${files.join(', ')}; commit them or put them away (git stash), then merge again`,
      1,
    );
  }

  async #check(): Promise<void> {
    const { spec, folder, state } = this.#loop;
    const { env, say, interrupt } = this.#request;
    const { policy } = state;
    const { path } = this.#worktree;
    const where = {
      cwd: join(this.#trial.folder, relative(path, this.#worktree.folder)),
      env: runEnvironment({ spec, folder, env, policy, run: '1.1' }),
      marker: mergeMarker(spec),
      graceMs: policy.timeouts.killGraceMs,
    };
    const { setup, setupTimeoutMs } = policy.worktree;
    const logs = join(folder.path, 'merge');
    const ready = await setUp(
      { ...where, commands: setup, timeoutMs: setupTimeoutMs, logs: join(logs, 'setup') },
      say,
      interrupt,
    );
    if (ready !== 'done')
      throw new UserError(ready === 'interrupted' ? ready : `${ready.failed}. Nothing was merged`, 1);
    const commands = policy.checks.commands.map(({ command }) => command);
    const red: string[] = [];
    for (const [index, command] of commands.entries()) {
      const log = join(logs, 'checks', `${checkSlug(commands, index)}.log`);
      say(`check started: ${command}`);
      const checking = { ...where, command, log, shownAs: log, timeoutMs: policy.checks.timeoutMs };
      // oxlint-disable-next-line no-await-in-loop -- checks may get into each other's way
      const result = await runCheck(checking, processes, interrupt);
      if (result === null) throw new UserError('interrupted', 1);
      if (result.code === 0) {
        say(`check passed: ${command}`);
        continue;
      }
      const words = masked(lastLines(log, 3), env);
      red.push(
        `failed     ${command} (${howItFailed(result.code, result.timedOut)})${words === '' ? '' : `: ${words}`} — ${log}`,
      );
    }
    if (red.length > 0) throw this.#red(red);
  }

  #red(red: readonly string[]): UserError {
    const { name } = this.#loop.spec;
    const { path, branch, from } = this.#worktree;
    const merge = `git -C ${shellQuote(path)} merge ${from ?? 'HEAD'}`;
    return new UserError(
      [
        `the merged result does not pass the checks: nothing was merged`,
        ...red,
        `go on      ${merge}      (put it right there, by hand or with ralph resume ${name}, then merge again)`,
        `anyway     ralph worktree merge ${name} --no-checks, or: git merge ${branch}`,
      ].join('\n  '),
      1,
    );
  }

  /** The user's own branch, files and index, to what was tried out. */
  async #moveTo(commit: string, from: string, into: string): Promise<void> {
    if (this.#request.interrupt.aborted) throw new UserError('interrupted', 130);
    const problem = await problemWith(this.#here);
    const isSame = (await branchOf(this.#here)) === into && (await tipOf(this.#here, into)) === from;
    if (problem !== null || !isSame)
      throw new UserError(
        `${into} is not as it was when the merge began${problem === null ? '' : ` (${problem})`}; nothing was merged, try again`,
        1,
      );
    const why = await moveBranch(this.#here, { branch: into, from, to: commit });
    if (why !== null) throw new UserError(why, 1);
  }
}

/** What git prints with a NUL between two. */
async function lines(repository: Repository, args: readonly string[]): Promise<readonly string[]> {
  const { code, stdout } = await ask(repository, args);
  return code === 0
    ? stdout
        .toString('utf8')
        .split('\0')
        .filter((line) => line !== '')
    : [];
}
