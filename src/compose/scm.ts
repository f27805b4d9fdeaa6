/**
 * The tasks of the version control, after an iteration whose checks have passed.
 *
 * 1. No shell sees anything of it, and nobody is asked anything: words go to programs as they are.
 * 2. What was done is written down task by task, so that an owner who takes over goes on where the last one was.
 * 3. Whatever goes wrong is told and ends nothing.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Agent } from '../agents/agent.ts';
import { checkSlug } from '../checks/slug.ts';
import type { LoopFolder } from '../control/layout.ts';
import { hideSecrets, type Spec } from '../control/spec.ts';
import type { Changes, Committed, Wanted, Workspace } from '../engine/ports.ts';
import { changesSince } from '../git/changes.ts';
import { madeBefore, movedTo, prepareCommit, settle, takeBack, wasAttempted } from '../git/commit.ts';
import { GitError, quietGit, resolve, type Repository } from '../git/repository.ts';
import { problemWith } from '../git/state.ts';
import { recordName, recordTree, removeRecords, writeTree } from '../git/tree.ts';
import { commitMessage } from '../loop/commit-message.ts';
import { isCommit, splitWords } from '../loop/commit-task.ts';
import type { CommitPolicy, Policy } from '../loop/policy.ts';
import { findCommand } from '../process/command.ts';
import { runLogged } from '../process/logged.ts';
import { processes } from '../process/processes.ts';
import { UserError } from '../user-error.ts';
import { answerIn, removeAnswer } from './commit-answer.ts';
import { lastLines } from './excerpts.ts';
import { checkMarker, runEnvironment } from './run-environment.ts';

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
  { iteration, commit }: Wanted<'changes'>,
  interrupt: AbortSignal,
): Promise<Changes | null> {
  const found = scmProgram(commit, loop.spec.workspace, loop.env);
  if ('problem' in found) return { any: true, error: found.problem };
  // Only git can be asked; others say so themselves.
  if (!found.isGit) return { any: true, error: null };
  const place = placeOf(loop, iteration);
  const repository = { ...repositoryOf(loop, found, iteration), interrupt };
  try {
    // What was begun is finished first.
    if (wasAttempted(place)) return { any: true, error: null };
    const changes = await changesSince(repository, startOf(loop.spec), join(place, 'index'));
    if (interrupt.aborted) return null;
    return { any: changes.length > 0, error: changes.length > 0 ? await problemWith(repository) : null };
  } catch (error) {
    if (interrupt.aborted) return null;
    return { any: true, error: await explainTrouble(error, repository) };
  }
}

/** One iteration's tasks. */
class Commit {
  readonly #loop: ScmSpec;
  readonly #effect: Wanted<'commit'>;
  readonly #graceMs: number;
  readonly #interrupt: AbortSignal;
  readonly #place: string;
  #commit: string | null = null;
  #done: readonly string[] = [];

  constructor(loop: ScmSpec, effect: Wanted<'commit'>, graceMs: number, interrupt: AbortSignal) {
    this.#loop = loop;
    this.#effect = effect;
    this.#graceMs = graceMs;
    this.#interrupt = interrupt;
    this.#place = placeOf(loop, effect.iteration);
  }

  async carryOut(): Promise<Committed | null> {
    const { message } = this.#effect;
    const made = await this.#carryOutTasks();
    const { folder, agent } = this.#loop;
    if (made !== null && typeof message === 'object') removeAnswer(folder.run(message.run), agent);
    return made;
  }

  async #carryOutTasks(): Promise<Committed | null> {
    const { spec, env } = this.#loop;
    const { commit } = this.#effect;
    mkdirSync(this.#place, { recursive: true });
    this.#remember();
    const program = scmProgram(commit, spec.workspace, env);
    if ('problem' in program) return this.#ends(program.problem);
    for (const [index, task] of commit.tasks.entries()) {
      if (this.#done[index] === task) continue;
      // oxlint-disable-next-line no-await-in-loop -- one after the other is what was asked for
      const came = await this.#carryOutTask(program, task, index);
      if (came === 'interrupted') return null;
      if (came === 'nothing') return this.#ends(null);
      if (came !== 'done') return this.#ends(hideSecrets(withoutPasswords(came.error), env));
      this.#done = [...this.#done.slice(0, index), task];
      this.#note();
    }
    return this.#ends(null);
  }

  #ends(error: string | null): Committed {
    return { commit: this.#commit, done: this.#done, error };
  }

  async #carryOutTask(program: ScmProgram, task: string, index: number): Promise<TaskEnding> {
    const [name = '', ...more] = splitWords(task) ?? [];
    if (!isCommit(task)) return this.#run(program, [name, ...more], task, index);
    if (program.isGit) return this.#commitWithGit(program, more, task, index);
    const message = messageFrom(this.#loop, this.#effect);
    return message === null ? NO_MESSAGE : this.#run(program, [name, ...more, '-am', message], task, index);
  }

  async #commitWithGit(
    program: ScmProgram,
    options: readonly string[],
    task: string,
    index: number,
  ): Promise<TaskEnding> {
    const place = this.#place;
    const { iteration } = this.#effect;
    const repository = { ...repositoryOf(this.#loop, program, iteration), interrupt: this.#interrupt };
    const made = (commit: string | null): 'done' => {
      settle(place);
      this.#commit = commit;
      return 'done';
    };
    try {
      const before = await madeBefore(repository, place);
      if (before !== null) return made(before);
      const changes = await changesSince(repository, startOf(this.#loop.spec), join(place, 'index'));
      if (changes.length === 0) {
        const moved = await movedTo(repository, place);
        return moved === null ? 'nothing' : made(moved);
      }
      const message = messageFrom(this.#loop, this.#effect);
      if (message === null) return NO_MESSAGE;
      const problem = await problemWith(repository);
      if (problem !== null) return this.#interrupt.aborted ? 'interrupted' : { error: problem };
      const args = await prepareCommit(repository, changes, { folder: place, message, options });
      const came = this.#interrupt.aborted ? 'interrupted' : await this.#run(program, args, task, index);
      if (came === 'done') return made(await resolve(repository, 'HEAD^{commit}'));
      // Interrupted at the last moment, it may have been made all the same.
      if ((await madeBefore({ ...repository, interrupt: NEVER }, place)) === null)
        await takeBack(repository, place);
      return came;
    } catch (error) {
      if (this.#interrupt.aborted) return 'interrupted';
      await takeBack(repository, place);
      return { error: await explainTrouble(error, repository) };
    }
  }

  async #run(program: ScmProgram, args: readonly string[], task: string, index: number): Promise<TaskEnding> {
    const { spec } = this.#loop;
    const { key, iteration, commit } = this.#effect;
    const log = join(this.#place, `${checkSlug(commit.tasks, index)}.log`);
    const result = await runLogged(
      {
        argv: [...program.command, ...args],
        cwd: spec.workspace,
        env: taskEnvironment(this.#loop, iteration),
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
    const words = lastLines(log, 3);
    return { error: `SCM task "${task}" failed: ${how}${words === '' ? '' : `: ${words}`}` };
  }

  #remember(): void {
    try {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `#note`
      const known = JSON.parse(readFileSync(join(this.#place, 'done.json'), 'utf8')) as Progress;
      this.#commit = known.commit;
      this.#done = known.done;
    } catch {
      // Nobody has begun.
    }
  }

  #note(): void {
    const progress: Progress = { commit: this.#commit, done: this.#done };
    writeFileSync(join(this.#place, 'done.json'), JSON.stringify(progress));
  }
}

type TaskEnding = 'done' | 'nothing' | 'interrupted' | { readonly error: string };

interface Progress {
  readonly commit: string | null;
  readonly done: readonly string[];
}

const NO_MESSAGE = { error: 'agent did not provide a valid commit message' } as const;
const NEVER = new AbortController().signal;

/** Refuses a loop that could never commit, before anything of it is there. */
export async function refuseCommit(
  { commit }: Policy,
  workspace: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  if (commit === null || commit.tasks.length === 0) return;
  const program = scmProgram(commit, workspace, env);
  if ('problem' in program) throw new UserError(program.problem);
  if (!program.isGit || !commit.tasks.some(isCommit)) return;
  const problem = await problemWith({ command: program.command, folder: workspace, env: quietGit(env) });
  if (problem !== null) throw new UserError(`cannot commit: ${problem}`);
}

/** Puts on record how everything was when the loop began, unless that is known: only what has changed since is its own. */
export async function recordStart(loop: Omit<ScmSpec, 'agent'>): Promise<void> {
  const { spec, folder, env } = loop;
  const { commit } = loop.policy();
  if (commit === null || !commit.tasks.some(isCommit)) return;
  const program = scmProgram(commit, spec.workspace, env);
  if ('problem' in program || !program.isGit) return;
  const repository = { command: program.command, folder: spec.workspace, env: quietGit(env) };
  const ref = startOf(spec);
  if ((await resolve(repository, ref)) !== null) return;
  const tree = await writeTree(repository, join(folder.path, 'start-index'));
  await recordTree(repository, { ref, tree, message: `ralph: ${spec.name}, before its first iteration` });
}

/** Forgets what is on record of a loop. */
export async function forgetRecords(spec: Spec, { commit }: Policy): Promise<void> {
  if (commit === null) return;
  const env = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? '']));
  const program = scmProgram(commit, spec.workspace, env);
  if ('problem' in program || !program.isGit) return;
  try {
    await removeRecords({ command: program.command, folder: spec.workspace, env }, spec.id);
  } catch {
    // They are in nobody's way.
  }
}

function startOf({ id }: Spec): string {
  return recordName(id, 'start');
}

function messageFrom(loop: ScmSpec, { iteration, message }: Wanted<'commit'>): string | null {
  const { folder, agent, spec, env } = loop;
  if (message === 'missing') return null;
  if (message === 'plain') return `ralph: ${spec.name}, iteration ${iteration}`;
  return commitMessage(hideSecrets(answerIn(folder.run(message.run), agent), env));
}

interface ScmProgram {
  readonly command: readonly [string, ...string[]];
  readonly isGit: boolean;
}

function scmProgram(
  { command }: CommitPolicy,
  workspace: string,
  env: Readonly<Record<string, string>>,
): ScmProgram | { readonly problem: string } {
  const [name = '', ...options] = splitWords(command) ?? [];
  const found = findCommand(name, env['PATH'] ?? '', workspace);
  if (found.found === 'nothing')
    return { problem: `the SCM command is not there: ${name} (looked in PATH from ${workspace})` };
  if (found.found === 'not-executable')
    return { problem: `the SCM command is not executable: ${found.path} (chmod +x it)` };
  return { command: [found.path, ...options], isGit: basename(name) === 'git' };
}

/** Where the logs of an iteration's tasks are, and what was done. */
function placeOf({ folder }: ScmSpec, iteration: number): string {
  return join(folder.run(`${iteration}.1`), 'scm');
}

function taskEnvironment({ spec, folder, env, policy }: ScmSpec, iteration: number): Record<string, string> {
  return quietGit(runEnvironment({ spec, folder, env, policy: policy(), run: `${iteration}.1` }));
}

function repositoryOf(loop: ScmSpec, { command }: ScmProgram, iteration: number): Repository {
  const marker = checkMarker(loop.spec, `commit:${iteration}`);
  const env = { ...taskEnvironment(loop, iteration), [marker.name]: marker.value };
  return { command, folder: loop.spec.workspace, env };
}

/** The state of the repository says more than the command that it has foiled. */
async function explainTrouble(error: unknown, repository: Repository): Promise<string> {
  if (!(error instanceof GitError)) throw error;
  return (await problemWith(repository)) ?? error.message;
}

/** An address may have a password in it. */
function withoutPasswords(text: string): string {
  return text.replaceAll(/(\w:\/\/)[^\s/@]+@/g, '$1…@');
}
