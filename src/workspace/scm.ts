/**
 * The SCM tasks of a loop (`commit`, `push`, …), carried out after an iteration whose checks have passed.
 *
 * 1. Arguments go to the program without a shell, and the program cannot prompt.
 * 2. Progress is noted task by task, so that an owner that takes over continues where the last one was.
 * 3. A failure is reported and does not end the loop.
 */
import { join } from 'node:path';
import { checkSlug } from '../checks/check.ts';
import type { Committed, EffectOf, Workspace } from '../engine/ports.ts';
import { PRIVATE_FILE, PRIVATE_FOLDER, makeFolders } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { mayHaveHooks } from '../git/commit.ts';
import { readCommit, type MadeCommit } from '../git/made-commit.ts';
import { commitMessage, plainMessage, withoutClaims } from '../loop/commit-message.ts';
import { isCommit, splitWords } from '../loop/words.ts';
import { refuseReportedFullDisk } from '../process/full-disk.ts';
import { howEnded, runLogged } from '../process/logged.ts';
import { type Environment, processes } from '../process/process.ts';
import { gitErrorIn, lastLines } from '../files/excerpts.ts';
import { clearGuarded, clearGuardedByOthers } from '../sandbox/guard.ts';
import { checkMarker } from '../home/run-environment.ts';
import { masked } from '../loop/secrets.ts';
import { treeOf } from '../home/spec.ts';
import { answerIn, removeAnswer } from './commit-answer.ts';
import { gitIn, scmProgram, type ScmProgram } from './user-git.ts';
import { commitWithGit, NO_MESSAGE, type GitCommitOrder } from './git-commit.ts';
import { findChanges } from './find-changes.ts';
import type { LoopTree } from './loop-tree.ts';
import { taskEnvironment, taskRepository, type ScmSpec } from './scm-spec.ts';
import { startRef } from './start.ts';
import { problemOutside, remedyInView, stepsOf } from './task-steps.ts';
import { progressFile, readProgress, scmFolder, tidyIndex, type Progress } from './task-progress.ts';

export function loopScm(loop: ScmSpec, files: LoopTree): Pick<Workspace, 'changes' | 'commit'> {
  return {
    changes: (effect, interrupt) => findChanges(loop, effect, interrupt, files),
    async commit(effect, graceMs, interrupt) {
      const changes = files.seen?.changes ?? null;
      if (await mayChangeFiles(loop, effect)) files.forget();
      const tasks = new ScmTasks({ ...loop, changes }, effect, graceMs, interrupt);
      const committed = await tasks.carryOut();
      if (tasks.made === null) files.forget();
      else files.learn({ commit: tasks.made.commit, head: tasks.made.tree });
      return committed;
    },
  };
}

/** A commit alone changes no file, unless a hook does. */
async function mayChangeFiles(loop: ScmSpec, { commit, message }: EffectOf<'commit'>): Promise<boolean> {
  const program = scmProgram(commit, treeOf(loop.spec), loop.env);
  const isOnlyCommit = commit.tasks.every(isCommit) && 'isGit' in program && program.isGit;
  return !isOnlyCommit || message !== 'plain' || mayHaveHooks(gitIn(treeOf(loop.spec), loop.env));
}

/** The tasks of one iteration. */
class ScmTasks {
  readonly #loop: ScmSpec & Pick<GitCommitOrder, 'changes'>;
  readonly #effect: EffectOf<'commit'>;
  readonly #graceMs: number;
  readonly #interrupt: AbortSignal;
  readonly #folder: string;
  #commit: string | null = null;
  #done: readonly string[] = [];
  #warning: string | null = null;
  /** As it was read when it was made: a later task may check out another branch. */
  made: MadeCommit | null = null;

  constructor(
    loop: ScmSpec & Pick<GitCommitOrder, 'changes'>,
    effect: EffectOf<'commit'>,
    graceMs: number,
    interrupt: AbortSignal,
  ) {
    this.#loop = loop;
    this.#effect = effect;
    this.#graceMs = graceMs;
    this.#interrupt = interrupt;
    this.#folder = scmFolder(loop.folder, effect.iteration);
  }

  /** Null when interrupted. */
  async carryOut(): Promise<Committed | null> {
    const { message } = this.#effect;
    const committed = await this.#carryOutTasks();
    if (committed === null) return null;
    const { folder, agent, spec, env } = this.#loop;
    if (typeof message === 'object') removeAnswer(folder, message.run, agent);
    if (committed.commit === null) return committed;
    const made =
      this.made ?? (await readCommit(gitIn(treeOf(spec), env), committed.commit).catch(() => null));
    if (made === null) return committed;
    const { subject, files, branch } = made;
    const shown = subject === '' ? {} : { subject: masked(subject, env), files: files.length };
    return { ...committed, ...shown, branch };
  }

  async #carryOutTasks(): Promise<Committed | null> {
    const { spec, env } = this.#loop;
    const { commit } = this.#effect;
    makeFolders(this.#folder, PRIVATE_FOLDER);
    ({ commit: this.#commit, done: this.#done } = readProgress(this.#folder));
    const program = scmProgram(commit, treeOf(spec), env);
    if ('problem' in program) return this.#result(program.problem);
    for (const [index, task] of commit.tasks.entries()) {
      if (this.#done[index] === task) continue;
      // oxlint-disable-next-line no-await-in-loop -- tasks run in order
      const ending = await this.#carryOutTask(program, task, index);
      if (ending === 'interrupted') return null;
      if (ending === 'nothing') return this.#result(null);
      if (ending !== 'done') return this.#result(masked(ending.error, env));
      this.#done = [...this.#done.slice(0, index), task];
      this.#noteProgress();
    }
    return this.#result(null);
  }

  #result(error: string | null): Committed {
    return { commit: this.#commit, done: this.#done, error: error ?? this.#warning };
  }

  #noteProgress(): void {
    const progress: Progress = { commit: this.#commit, done: this.#done };
    replaceFile(progressFile(this.#folder), JSON.stringify(progress), { mode: PRIVATE_FILE });
  }

  async #carryOutTask(program: ScmProgram, task: string, index: number): Promise<TaskEnding> {
    if (isCommit(task) && this.#effect.message === 'committed') return this.#takeHead(program);
    if (!isCommit(task)) return this.#run(program, splitWords(task) ?? [], task, index);
    if (program.isGit) return this.#commitWithGit(program, task, index);
    const message = messageFrom(this.#loop, this.#effect);
    return message === null ? NO_MESSAGE : this.#run(program, ['commit', '-am', message], task, index);
  }

  /** The agent has committed by itself. */
  async #takeHead(program: ScmProgram): Promise<TaskEnding> {
    const repository = taskRepository(this.#loop, program, this.#effect.iteration);
    this.made = await readCommit(repository, 'HEAD');
    this.#commit = this.made.commit;
    return 'done';
  }

  async #commitWithGit(program: ScmProgram, task: string, index: number): Promise<TaskEnding> {
    const { iteration, message } = this.#effect;
    const repository = { ...taskRepository(this.#loop, program, iteration), interrupt: this.#interrupt };
    await tidyIndex(this.#loop.folder, repository, this.#folder);
    const result = await commitWithGit({
      repository,
      folder: this.#folder,
      start: startRef(this.#loop.spec),
      message: () => messageFrom(this.#loop, this.#effect),
      changes: this.#loop.changes,
      isMessageByAgent: typeof message === 'object',
      run: (args, env) => this.#run(program, args, task, index, env),
    });
    if (result === 'interrupted' || 'error' in result) return result;
    this.made = result.ending === 'done' ? result.made : null;
    this.#commit = this.made?.commit ?? null;
    this.#warning = result.warning ?? this.#warning;
    return result.ending;
  }

  async #run(
    program: ScmProgram,
    args: readonly string[],
    task: string,
    index: number,
    extraEnv: Environment = {},
  ): Promise<Exclude<TaskEnding, 'nothing'>> {
    const { spec } = this.#loop;
    const { key, iteration, commit } = this.#effect;
    const log = join(this.#folder, `${checkSlug(commit.tasks, index)}.log`);
    const limits = { timeoutMs: commit.timeoutMs, maxBytes: this.#loop.policy().limits.outputBytes };
    const env = { ...taskEnvironment(this.#loop, iteration), ...extraEnv };
    const repository = { ...taskRepository(this.#loop, program, iteration), env };
    for (const { argv, view, isOutside } of await stepsOf(program, args, repository)) {
      if (isOutside === true) {
        // The hook before it may be the agent's.
        clearGuarded(this.#loop.folder, this.#loop.say);
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await clearGuardedByOthers(repository, this.#loop.folder, this.#loop.say);
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const problem = await problemOutside(repository);
        if (problem !== null) return { error: `SCM task "${task}" failed: ${problem}` };
      }
      const command = {
        argv,
        cwd: treeOf(spec),
        env: view?.env ?? env,
        sandbox: view === null ? null : { ...view.wrapper, graceMs: this.#graceMs },
        marker: checkMarker(spec, key),
        log,
        ...limits,
        graceMs: this.#graceMs,
      };
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const result = await runLogged(command, processes, this.#interrupt);
      if (result === null) return 'interrupted';
      if (result.code === 0) continue;
      const reason = gitErrorIn(log, 3);
      if (program.isGit) refuseReportedFullDisk(reason, treeOf(spec));
      const remedy = view === null ? '' : remedyInView(lastLines(log, 40), this.#loop.policy());
      return {
        error: `SCM task "${task}" failed: ${howEnded(result, limits)}${reason === '' ? '' : `: ${reason}`}${remedy}`,
      };
    }
    return 'done';
  }
}

type TaskEnding = 'done' | 'nothing' | 'interrupted' | { readonly error: string };

/** The commit message; null if the agent was asked for one and gave none. */
function messageFrom(loop: ScmSpec, { iteration, message }: EffectOf<'commit'>): string | null {
  const { folder, agent, spec, env, policy } = loop;
  if (message === 'missing' || message === 'committed') return null;
  const plain = () => plainMessage('text' in spec.prompt ? spec.prompt.text : null, spec.name, iteration);
  if (message === 'plain') return plain();
  const claims = policy().completion.detectors.flatMap((one) => ('value' in one ? [one.value] : []));
  const answer = masked(answerIn(folder, message.run, agent), env);
  const rest = withoutClaims(answer, claims);
  return rest !== answer && rest.trim() === '' ? plain() : commitMessage(rest, policy().commitMessage);
}
