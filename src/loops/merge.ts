/**
 * Merges a loop's branch into the branch that is checked out in the workspace.
 *
 * 1. The merge and the checks on its result happen in a temporary worktree that is always removed: if anything fails, both
 *    branches stay as they were.
 * 2. The user's branch is moved exactly to the commit that passed; if the branch has moved meanwhile, nothing is merged.
 * 3. The loop cannot run meanwhile, because its lock is held. The remains of a merge that was killed are removed first.
 */
import { existsSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { runCheck, type CheckSpec, checkSlug } from '../checks/check.ts';
import type { Spec, Worktree } from '../home/spec.ts';
import { changesSince } from '../git/changes.ts';
import { cancelCommit, finishCommit, prepareCommit } from '../git/commit.ts';
import { moveBranch } from '../git/move.ts';
import { withoutNestedFilters } from '../git/nested-filters.ts';
import { execGit, gitFailure, resolveRevision, scratchIn, type Repository } from '../git/git.ts';
import { readCommit } from '../git/made-commit.ts';
import { problemWith } from '../git/state.ts';
import { writeTree } from '../git/tree.ts';
import { addTree, branchOf, removeTree, topOf } from '../git/worktree.ts';
import type { CheckResult } from '../loop/event.ts';
import type { Policy } from '../loop/policy.ts';
import { runPlanCheck } from '../checks/plan-check.ts';
import { inCheckSandbox } from '../workspace/loop-sandbox.ts';
import { processes } from '../process/process.ts';
import { killAll } from '../process/stop.ts';
import type { Marker } from '../process/process-table.ts';
import { UserError } from '../user-error.ts';
import { howItFailed } from '../loop/exit-code.ts';
import { lastLines } from '../files/excerpts.ts';
import { withIdleLoop } from '../owner/idle-loop.ts';
import { shellQuote, mergeByHand } from '../loop/shell-quote.ts';
import type { LoopReading } from '../home/read-loop.ts';
import { checkMarker, runEnvironment } from '../home/run-environment.ts';
import { startRef } from '../workspace/start.ts';
import { remedyInView } from '../workspace/task-steps.ts';
import { recordLimits, gitIn, withGitErrorsForUser } from '../workspace/user-git.ts';
import { masked } from '../loop/secrets.ts';
import { setUp } from '../workspace/set-up.ts';
import { withWorktreeLock } from '../workspace/worktree-lock.ts';
import { ahead, isOwn, mergeFolder, ownsBranch, tipOf } from '../workspace/worktree.ts';
import { counted } from '../loop/counted.ts';

export interface MergeRequest {
  readonly env: Readonly<Record<string, string>>;
  /** Whether to run set-up and checks on the result. */
  readonly checks: boolean;
  readonly say: (line: string) => void;
  readonly interrupt: AbortSignal;
}

export interface Merged {
  readonly branch: string;
  readonly into: string;
  readonly commit: string;
  /** How many commits were merged; 0 if the target already had all of them. */
  readonly commits: number;
}

/** Merges; throws a `UserError` otherwise, with exit code 1 if the work itself is the reason. */
export async function mergeWorktree(loop: LoopReading, request: MergeRequest): Promise<Merged> {
  const { worktree } = loop.spec;
  if (worktree === undefined)
    throw new UserError(`"${loop.spec.name}" has no worktree: it runs in the workspace`);
  return withGitErrorsForUser(() => withIdleLoop(loop, () => new Merge(loop, worktree, request).carryOut()));
}

/** Removes the remains of a merge that was killed. */
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
  /** Git in the workspace. */
  readonly #here: Repository;
  /** Git in the temporary worktree. */
  readonly #trial: Repository;

  constructor(loop: LoopReading, worktree: Worktree, request: MergeRequest) {
    this.#loop = loop;
    this.#worktree = worktree;
    this.#request = request;
    const { name, value } = mergeMarker(loop.spec);
    this.#here = gitIn(loop.spec.workspace, request.env);
    // Marks only the trial: `tidyMerge` kills marked processes, which must not hit the move of the user's branch.
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
        `${branch} itself is checked out here; switch to the target branch first: git switch NAME`,
      );
    await this.#refuseForeignBranch();
    await this.#commitUncommitted();
    const from = (await tipOf(this.#here, into)) ?? '';
    const commits = await ahead(this.#here, from, `refs/heads/${branch}`);
    if (commits === 0) return { branch, into, commit: from, commits };
    try {
      const commit = await this.#tryOut(from, into);
      await withWorktreeLock(this.#here, () => this.#moveTo(commit, from, into));
      return { branch, into, commit, commits };
    } catch (error) {
      throw this.#request.interrupt.aborted ? new UserError('interrupted: nothing was merged', 130) : error;
    } finally {
      await tidyMerge(this.#loop.spec, this.#worktree, this.#here);
    }
  }

  /** The branch may belong to another loop or to the user by now. */
  async #refuseForeignBranch(): Promise<void> {
    const { spec } = this.#loop;
    const { branch } = this.#worktree;
    if (await ownsBranch(spec, this.#request.env)) return;
    if ((await tipOf(this.#here, branch)) === null)
      throw new UserError(`the branch ${branch} is gone: there is nothing to merge`);
    throw new UserError(
      `the branch ${branch} no longer belongs to "${spec.name}"; its own branch is gone. To merge the new one, run: ${mergeByHand(branch)}`,
    );
  }

  /** Commits the loop's uncommitted changes to its branch, without those of its set-up. */
  async #commitUncommitted(): Promise<void> {
    const { spec, folder } = this.#loop;
    const { path, branch } = this.#worktree;
    if (!(await isOwn(spec, this.#request.env))) {
      // The user may have removed the folder; the branch still has all commits.
      if (!existsSync(path)) return;
      throw new UserError(`${path} is no longer the worktree of "${spec.name}"`);
    }
    // As the record of the start leaves them out, so does the commit.
    const tree: Repository = { ...this.#here, folder: path, ...recordLimits(this.#loop.state.policy) };
    const start = (await resolveRevision(tree, startRef(spec))) === null ? 'HEAD' : startRef(spec);
    const place = join(folder.path, 'merge');
    const now = await writeTree(tree, scratchIn(place, 'tree'));
    const changes = await changesSince(tree, { start, tree: now });
    const checkedOut = await branchOf(tree);
    if (checkedOut !== branch) {
      throw new UserError(
        `${path} is no longer on its branch ${branch}${checkedOut === null ? '' : `, but on ${checkedOut}`}; to move the branch to its commits, run: git -C ${shellQuote(path)} switch -C ${shellQuote(branch)}`,
      );
    }
    if (changes.length === 0) return;
    const problem = await problemWith(tree);
    if (problem !== null) throw new UserError(`cannot commit the uncommitted changes in ${path}: ${problem}`);
    const message = `ralph: ${spec.name}, uncommitted changes of the worktree`;
    const { args, env } = await prepareCommit(tree, changes, { folder: place, message });
    const answer = await execGit(tree, args, env, { as: 'user' });
    if (answer.code !== 0) {
      await cancelCommit(tree, place);
      const { message: reason } = gitFailure(args, answer);
      const remedy = remedyInView(answer.stderr, this.#loop.state.policy);
      throw new UserError(`cannot commit the uncommitted changes in ${path}: ${reason}${remedy}`, 1);
    }
    await finishCommit(tree, place, await readCommit(tree, 'HEAD'));
    this.#request.say(
      `committed ${counted(changes.length, 'uncommitted file')} of the worktree to ${branch}`,
    );
  }

  /** Merges and checks in the temporary worktree, and returns the commit that passed. */
  async #tryOut(from: string, into: string): Promise<string> {
    const { branch } = this.#worktree;
    const trial = this.#trial;
    await addTree({ ...trial, folder: this.#here.folder }, { path: trial.folder, branch: null, at: from });
    const args = ['merge', '--no-edit', '-m', `Merge branch '${branch}'`, `refs/heads/${branch}`];
    const answer = await execGit(trial, args, {}, { as: 'user' });
    if (answer.code !== 0)
      throw await this.#conflict(
        into,
        `${gitFailure(args, answer).message}${remedyInView(answer.stderr, this.#loop.state.policy)}`,
      );
    const commit = (await resolveRevision(trial, 'HEAD^{commit}')) ?? '';
    await this.#refuseOverwriting(from, commit);
    if (this.#request.checks) await this.#check();
    return commit;
  }

  async #conflict(into: string, message: string): Promise<UserError> {
    const { path, branch } = this.#worktree;
    const { name } = this.#loop.spec;
    const files = (await nulSeparated(this.#trial, ['diff', '--name-only', '--diff-filter=U', '-z'])).join(
      ', ',
    );
    const what = files === '' ? message : `conflicts in ${files}`;
    return new UserError(
      [
        `${branch} cannot be merged into ${into}: ${what}. Both branches are unchanged`,
        `continue   git -C ${shellQuote(path)} merge ${shellQuote(into)}      (resolve, commit, then: ralph worktree merge ${name})`,
        `by hand    ${mergeByHand(branch)}`,
      ].join('\n  '),
      1,
    );
  }

  /** Git would refuse this too, but only after the checks, which may take long. */
  async #refuseOverwriting(from: string, commit: string): Promise<void> {
    const changed = new Set(
      await nulSeparated(this.#here, ['diff-tree', '-r', '--name-only', '-z', '--no-renames', from, commit]),
    );
    const top = await withoutNestedFilters({ ...this.#here, folder: await topOf(this.#here) });
    const status = await nulSeparated(top, [
      'status',
      '--porcelain',
      '-z',
      '--no-renames',
      '--untracked-files=all',
    ]);
    const files = status.map((entry) => entry.slice(3)).filter((file) => changed.has(file));
    if (files.length === 0) return;
    throw new UserError(
      `the merge would overwrite local changes: ${files.join(', ')}; commit or stash them, then merge again`,
      1,
    );
  }

  async #check(): Promise<void> {
    const { spec, folder, state } = this.#loop;
    const { env, say, interrupt } = this.#request;
    const { policy } = state;
    const { path } = this.#worktree;
    const cwd = join(this.#trial.folder, relative(path, this.#worktree.folder));
    const loop = { spec, folder, env };
    const where = {
      cwd,
      ...(await inCheckSandbox(loop, policy, runEnvironment({ ...loop, policy, run: '1.1' }), cwd)),
      marker: mergeMarker(spec),
      maxBytes: policy.limits.outputBytes,
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
    const failures: string[] = [];
    for (const [index, command] of commands.entries()) {
      const log = join(logs, 'checks', `${checkSlug(commands, index)}.log`);
      say(`check started: ${command}`);
      const checking = { ...where, command, log, shownAs: log, timeoutMs: policy.checks.timeoutMs };
      // oxlint-disable-next-line no-await-in-loop -- checks may interfere with each other
      const result = await this.#runCheck(policy, index, checking);
      if (result === null) throw new UserError('interrupted', 1);
      if (result.code === 0) {
        say(`check passed: ${command}`);
        continue;
      }
      const output = masked(lastLines(log, 3), env);
      failures.push(
        `failed     ${command} (${howItFailed(result)})${output === '' ? '' : `: ${output}`} — ${log}`,
      );
    }
    if (failures.length > 0) throw this.#checksFailed(failures);
  }

  /** Runs one check; null if it was interrupted. */
  #runCheck(policy: Policy, index: number, checking: CheckSpec): Promise<CheckResult | null> {
    const { plan, checks } = policy;
    if (plan === null || checks.commands[index]?.plan !== true)
      return runCheck(checking, processes, this.#request.interrupt);
    const { log, shownAs, cwd: root } = checking;
    return runPlanCheck({ root, file: plan.file, start: this.#loop.folder.plan, log, shownAs });
  }

  #checksFailed(failures: readonly string[]): UserError {
    const { name } = this.#loop.spec;
    const { path, branch, from } = this.#worktree;
    const merge = `git -C ${shellQuote(path)} merge ${shellQuote(from ?? 'HEAD')}`;
    return new UserError(
      [
        `the merged result fails the checks: nothing was merged`,
        ...failures,
        `continue   ${merge}      (fix it there, by hand or with ralph resume ${name}, then merge again)`,
        `anyway     ralph worktree merge ${name} --no-checks, or: ${mergeByHand(branch)}`,
      ].join('\n  '),
      1,
    );
  }

  /** Moves the user's branch, files and index to the commit that passed. */
  async #moveTo(commit: string, from: string, into: string): Promise<void> {
    if (this.#request.interrupt.aborted) throw new UserError('interrupted', 130);
    const problem = await problemWith(this.#here);
    const isUnmoved = (await branchOf(this.#here)) === into && (await tipOf(this.#here, into)) === from;
    if (problem !== null || !isUnmoved)
      throw new UserError(
        `${into} has changed since the merge began${problem === null ? '' : ` (${problem})`}; nothing was merged, try again`,
        1,
      );
    // Files outside of a workspace that is a subfolder change too.
    const top = { ...this.#here, folder: await topOf(this.#here) };
    const failure = await moveBranch(top, { branch: into, from, to: commit });
    if (failure !== null) throw new UserError(failure, 1);
  }
}

/** The NUL-separated output of git; empty if it fails. */
async function nulSeparated(repository: Repository, args: readonly string[]): Promise<readonly string[]> {
  const { code, stdout } = await execGit(repository, args);
  return code === 0
    ? stdout
        .toString('utf8')
        .split('\0')
        .filter((line) => line !== '')
    : [];
}
