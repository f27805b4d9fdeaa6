/**
 * The tasks of the version control, after an iteration whose checks have passed.
 *
 * 1. No shell sees anything of it, and nobody is asked anything: words go to programs as they are.
 * 2. What was done is written down task by task, so that an owner who takes over goes on where the last one was.
 * 3. Whatever goes wrong is told and ends nothing.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Agent } from '../agents/agent.ts';
import { checkSlug } from '../checks/slug.ts';
import type { LoopFolder } from '../store/store.ts';
import { treeOf, type Spec } from '../store/spec.ts';
import type { Committed, EffectOf, Workspace } from '../engine/ports.ts';
import { changesSince } from '../git/changes.ts';
import {
  madeBefore,
  movedTo,
  noteHead,
  prepareCommit,
  readNote,
  settle,
  takeBack,
  wasAttempted,
} from '../git/commit.ts';
import { differences } from '../git/differences.ts';
import { GitError, quietGit, resolve, utf8, type Repository } from '../git/git.ts';
import { problemWith } from '../git/state.ts';
import { writeTree } from '../git/tree.ts';
import type { Changes } from '../loop/event.ts';
import { commitMessage, plainMessage, withoutClaims } from '../loop/commit-message.ts';
import { isCommit, splitWords } from '../loop/words.ts';
import type { Policy } from '../loop/policy.ts';
import { runLogged } from '../process/logged.ts';
import { processes } from '../process/process.ts';
import { answerIn, removeAnswer } from './commit-answer.ts';
import { withSubject } from './commit-subject.ts';
import { fewOf, refusal } from '../store/excerpts.ts';
import { checkMarker, runEnvironment } from '../store/run-environment.ts';
import { scmProgram, type ScmProgram } from './program.ts';
import { progressFile, progressIn, scmFolder, tidyIndex, type Progress } from './progress.ts';
import { startOf } from './start.ts';
import { masked } from '../store/secrets.ts';
import { gitIn } from './git.ts';

export interface ScmSpec {
  readonly spec: Spec;
  readonly folder: LoopFolder;
  /** Of whoever started the loop. */
  readonly env: Readonly<Record<string, string>>;
  readonly agent: Agent;
  /** As it is now. */
  readonly policy: () => Policy;
}

export function loopScm(loop: ScmSpec): Pick<Workspace, 'changes' | 'commit'> {
  return {
    changes: (effect, interrupt) => lookForChanges(loop, effect, interrupt),
    commit: (effect, graceMs, interrupt) => new Commit(loop, effect, graceMs, interrupt).carryOut(),
  };
}

async function lookForChanges(
  loop: ScmSpec,
  { iteration, commit }: EffectOf<'changes'>,
  interrupt: AbortSignal,
): Promise<Changes | null> {
  const found = scmProgram(commit, treeOf(loop.spec), loop.env);
  if ('problem' in found) return { any: true, error: found.problem };
  // Only git can be asked; others say so themselves.
  if (!found.isGit) return { any: true, error: null };
  const place = scmFolder(loop.folder, iteration);
  const repository = { ...repositoryOf(loop, found, iteration), interrupt };
  try {
    // What was begun is finished first.
    if (wasAttempted(place)) return { any: true, error: null };
    const tree = await writeTree(repository, join(place, 'index'));
    const changes = await changesSince(repository, { start: startOf(loop.spec), tree });
    const problem = changes.length > 0 ? await problemWith(repository) : null;
    await noteHead(repository, place, { tree });
    const any = changes.length > 0;
    const committed = !any && (await isBehind(loop, repository, iteration, commit.tasks));
    return interrupt.aborted ? null : { any, committed, error: problem };
  } catch (error) {
    if (interrupt.aborted) return null;
    return { any: true, error: await explainTrouble(error, repository) };
  }
}

/** Whether there are commits, of the agent's own or with a task that failed, for which not all tasks were carried out. */
async function isBehind(
  loop: ScmSpec,
  repository: Repository,
  iteration: number,
  tasks: readonly string[],
): Promise<boolean> {
  const head = tasks.every(isCommit) ? null : await resolve(repository, 'HEAD^{commit}');
  if (head === null) return false;
  for (let before = iteration - 1; before > 0; before--) {
    const { commit, done } = progressIn(scmFolder(loop.folder, before));
    if (done.length > 0) return done.length < tasks.length || commit !== head;
  }
  return head !== (await resolve(repository, `${startOf(loop.spec)}^1`));
}

/** One iteration's tasks. */
class Commit {
  readonly #loop: ScmSpec;
  readonly #effect: EffectOf<'commit'>;
  readonly #graceMs: number;
  readonly #interrupt: AbortSignal;
  readonly #place: string;
  #commit: string | null = null;
  #done: readonly string[] = [];
  /** What no check has seen, and no commit has. */
  #left: string | null = null;

  constructor(loop: ScmSpec, effect: EffectOf<'commit'>, graceMs: number, interrupt: AbortSignal) {
    this.#loop = loop;
    this.#effect = effect;
    this.#graceMs = graceMs;
    this.#interrupt = interrupt;
    this.#place = scmFolder(loop.folder, effect.iteration);
  }

  async carryOut(): Promise<Committed | null> {
    const { message } = this.#effect;
    const made = await this.#carryOutTasks();
    if (made === null) return null;
    const { folder, agent, spec, env } = this.#loop;
    if (typeof message === 'object') removeAnswer(folder.run(message.run), agent);
    return withSubject(made, gitIn(treeOf(spec), env), (text) => masked(text, env));
  }

  async #carryOutTasks(): Promise<Committed | null> {
    const { spec, env } = this.#loop;
    const { commit } = this.#effect;
    mkdirSync(this.#place, { recursive: true });
    this.#remember();
    const program = scmProgram(commit, treeOf(spec), env);
    if ('problem' in program) return this.#ends(program.problem);
    for (const [index, task] of commit.tasks.entries()) {
      if (this.#done[index] === task) continue;
      // oxlint-disable-next-line no-await-in-loop -- one after the other is what was asked for
      const came = await this.#carryOutTask(program, task, index);
      if (came === 'interrupted') return null;
      if (came === 'nothing') return this.#ends(null);
      if (came !== 'done') return this.#ends(masked(came.error, env));
      this.#done = [...this.#done.slice(0, index), task];
      this.#note();
    }
    return this.#ends(null);
  }

  #ends(error: string | null): Committed {
    return { commit: this.#commit, done: this.#done, error: error ?? this.#left };
  }

  async #carryOutTask(program: ScmProgram, task: string, index: number): Promise<TaskEnding> {
    if (isCommit(task) && this.#effect.message === 'committed') return this.#isCommitted(program);
    if (!isCommit(task)) return this.#run(program, splitWords(task) ?? [], task, index);
    if (program.isGit) return this.#commitWithGit(program, task, index);
    const message = messageFrom(this.#loop, this.#effect);
    return message === null ? NO_MESSAGE : this.#run(program, ['commit', '-am', message], task, index);
  }

  async #isCommitted(program: ScmProgram): Promise<TaskEnding> {
    const repository = repositoryOf(this.#loop, program, this.#effect.iteration);
    this.#commit = await resolve(repository, 'HEAD^{commit}');
    return 'done';
  }

  async #commitWithGit(program: ScmProgram, task: string, index: number): Promise<TaskEnding> {
    const place = this.#place;
    const { iteration } = this.#effect;
    const repository = { ...repositoryOf(this.#loop, program, iteration), interrupt: this.#interrupt };
    const made = async (commit: string): Promise<'done'> => {
      this.#commit = commit;
      try {
        await settle(repository, place, commit);
      } catch (error) {
        if (!(error instanceof GitError)) throw error;
        this.#left = `${commit.slice(0, 7)} is made, but the index could not be brought up to date: ${error.message}`;
      }
      return 'done';
    };
    await tidyIndex(this.#loop.folder, repository, place);
    try {
      const before = await madeBefore(repository, place);
      if (before !== null) return await made(before);
      const note = readNote(place);
      const tree = note?.tree ?? (await writeTree(repository, join(place, 'index')));
      const since = { start: startOf(this.#loop.spec), tree };
      const changes = await changesSince(repository, note === null ? since : { ...since, head: note.head });
      this.#left = await this.#changedSince(repository, tree);
      if (changes.length === 0) {
        // An agent that is asked for a message may go and commit by itself.
        this.#commit = await movedTo(repository, place);
        await this.#takeBack(repository);
        return this.#commit === null ? 'nothing' : 'done';
      }
      const message = messageFrom(this.#loop, this.#effect);
      if (message === null) return NO_MESSAGE;
      const problem = await problemWith(repository);
      if (problem !== null) return this.#interrupt.aborted ? 'interrupted' : { error: problem };
      const { args, env } = await prepareCommit(repository, changes, { folder: place, message });
      const came = this.#interrupt.aborted ? 'interrupted' : await this.#run(program, args, task, index, env);
      if (came === 'done') return await made((await resolve(repository, 'HEAD^{commit}')) ?? '');
      // Ended at the last moment, in a hook that comes after it, it was made all the same.
      const late = await madeBefore({ ...repository, interrupt: NEVER }, place);
      if (late !== null) return came === 'interrupted' ? came : await made(late);
      await this.#takeBack(repository);
      return came;
    } catch (error) {
      await this.#takeBack(repository);
      if (this.#interrupt.aborted) return 'interrupted';
      return { error: await explainTrouble(error, repository) };
    }
  }

  /** What cannot be taken back now, since somebody holds the index, is taken back before the next commit. */
  async #takeBack(repository: Repository): Promise<void> {
    try {
      await takeBack(repository, this.#place);
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
    }
  }

  /** Whoever was asked for a message had the files in their hands once more, after the checks. */
  async #changedSince(repository: Repository, tree: string): Promise<string | null> {
    if (typeof this.#effect.message !== 'object') return null;
    const now = await writeTree(repository, join(this.#place, 'index'));
    const files = (await differences(repository, tree, now)).map(({ path }) => path);
    if (files.length === 0) return null;
    const names = fewOf(files.map(utf8), MOST_NAMES);
    return `changed after the checks, when the agent was asked for a message: ${names}`;
  }

  async #run(
    program: ScmProgram,
    args: readonly string[],
    task: string,
    index: number,
    more: Readonly<Record<string, string>> = {},
  ): Promise<TaskEnding> {
    const { spec } = this.#loop;
    const { key, iteration, commit } = this.#effect;
    const log = join(this.#place, `${checkSlug(commit.tasks, index)}.log`);
    const result = await runLogged(
      {
        argv: [...program.command, ...args],
        cwd: treeOf(spec),
        env: { ...taskEnvironment(this.#loop, iteration), ...more },
        marker: checkMarker(spec, key),
        log,
        timeoutMs: commit.timeoutMs,
        graceMs: this.#graceMs,
      },
      processes,
      this.#interrupt,
    );
    if (result === null) return 'interrupted';
    if (result.code === 0) return 'done';
    const how = result.timedOut
      ? `no end after ${(commit.timeoutMs ?? 0) / 1000} s`
      : `exit code ${result.code ?? 'unknown'}`;
    const words = refusal(log, 3);
    return { error: `SCM task "${task}" failed: ${how}${words === '' ? '' : `: ${words}`}` };
  }

  #remember(): void {
    ({ commit: this.#commit, done: this.#done } = progressIn(this.#place));
  }

  #note(): void {
    const progress: Progress = { commit: this.#commit, done: this.#done };
    writeFileSync(progressFile(this.#place), JSON.stringify(progress));
  }
}

type TaskEnding = 'done' | 'nothing' | 'interrupted' | { readonly error: string };

const NO_MESSAGE = { error: 'agent did not provide a valid commit message' } as const;
const NEVER = new AbortController().signal;
const MOST_NAMES = 10;

function messageFrom(loop: ScmSpec, { iteration, message }: EffectOf<'commit'>): string | null {
  const { folder, agent, spec, env, policy } = loop;
  if (message === 'missing' || message === 'committed') return null;
  const plain = () => plainMessage('text' in spec.prompt ? spec.prompt.text : null, spec.name, iteration);
  if (message === 'plain') return plain();
  const words = policy().completion.detectors.flatMap((one) => ('value' in one ? [one.value] : []));
  const answer = masked(answerIn(folder.run(message.run), agent), env);
  const rest = withoutClaims(answer, words);
  return rest !== answer && rest.trim() === '' ? plain() : commitMessage(rest);
}

function taskEnvironment({ spec, folder, env, policy }: ScmSpec, iteration: number): Record<string, string> {
  return quietGit(runEnvironment({ spec, folder, env, policy: policy(), run: `${iteration}.1` }));
}

function repositoryOf(loop: ScmSpec, { command }: ScmProgram, iteration: number): Repository {
  const marker = checkMarker(loop.spec, `commit:${iteration}`);
  const env = { ...taskEnvironment(loop, iteration), [marker.name]: marker.value };
  return { command, folder: treeOf(loop.spec), env };
}

/** The state of the repository says more than the command that it has foiled. */
async function explainTrouble(error: unknown, repository: Repository): Promise<string> {
  if (!(error instanceof GitError)) throw error;
  try {
    return (await problemWith(repository)) ?? error.message;
  } catch {
    return error.message;
  }
}
