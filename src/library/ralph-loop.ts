/** The loop of document 000 as a class: restarts a root runner until the folder of its task has a file `DONE`. */
import { statSync } from 'node:fs';
import { basename, dirname, join, normalize, resolve, sep } from 'node:path';
import { parseDuration } from '../config/values.ts';
import type { Time } from '../config/config.ts';
import { failureText } from '../loop/failure.ts';
import { UserError } from '../user-error.ts';
import { openLoop } from './library.ts';
import type { AgentContext } from './function-agent.ts';
import type { Loop } from './loop.ts';
import type { SeenEvent } from './recent-events.ts';
import { refuseUnknown } from './unknown-options.ts';
import type { LoopResult } from '../views/loop-result.ts';

/** Runs the root agent once. An error, thrown or returned, is a failed attempt; attempts count from 0. */
export type RootRunner = (context: AgentContext, attempt: number) => unknown;

/** Gets what the loop has to say. What it throws is ignored: a loop does not fail over its log. */
export interface MessageBus {
  append(message: BusMessage): unknown;
}

export interface BusMessage {
  readonly type: 'INFO' | 'WARNING' | 'ERROR';
  readonly body: string;
  readonly projectId: string;
  readonly taskId: string;
}

/** Times are seconds, or a number with a unit: `'5m'`. */
export interface RalphLoopOptions {
  readonly rootRunner: RootRunner;
  /** How many runs there may be, 100 if nothing is said: 10 are enough for most tasks, 50 for flaky ones. */
  readonly maxRestarts?: number | undefined;
  /** How long one run may take, and how long child loops are waited for: 300 s. */
  readonly waitTimeout?: Time | undefined;
  /** How often child loops are looked at: 1 s. */
  readonly pollInterval?: Time | undefined;
  /** The pause after every run: 1 s; 5 s are better where trouble is passing. */
  readonly restartDelay?: Time | undefined;
  /** The last two segments of the folder's path, if nothing is said. */
  readonly projectTask?: { readonly projectId: string; readonly taskId: string } | undefined;
}

const OPTIONS: readonly string[] = [
  'rootRunner',
  'maxRestarts',
  'waitTimeout',
  'pollInterval',
  'restartDelay',
  'projectTask',
] satisfies (keyof RalphLoopOptions)[];

export class RalphLoop {
  /** The folder of the task: `DONE` is looked for here. */
  readonly runDir: string;
  readonly messageBus: MessageBus;
  readonly maxRestarts: number;
  /** In seconds, like the two after it. */
  readonly waitTimeout: number;
  readonly pollInterval: number;
  readonly restartDelay: number;
  readonly projectId: string;
  readonly taskId: string;
  readonly rootRunner: RootRunner;
  #lastError: unknown = null;

  constructor(runDir: string, messageBus: MessageBus, options: RalphLoopOptions) {
    if (typeof runDir !== 'string' || runDir.trim() === '' || normalize(runDir) === '.')
      throw new UserError('run directory is empty');
    if (typeof messageBus?.append !== 'function') throw new UserError('message bus is nil');
    this.runDir = resolve(runDir);
    refuseNoFolder(this.runDir);
    refuseUnknown(options, OPTIONS);
    const { maxRestarts = 100, waitTimeout = 300, pollInterval = 1, restartDelay = 1 } = options;
    this.messageBus = messageBus;
    this.maxRestarts = maxRestarts;
    this.waitTimeout = seconds('wait timeout', waitTimeout);
    this.pollInterval = seconds('poll interval', pollInterval);
    this.restartDelay = seconds('restart delay', restartDelay);
    this.rootRunner = options.rootRunner;
    const { projectId, taskId } = options.projectTask ?? idsFrom(this.runDir);
    this.projectId = projectId;
    this.taskId = taskId;
    refuse(!(this.waitTimeout > 0), 'wait timeout must be positive');
    refuse(!(this.pollInterval > 0), 'poll interval must be positive');
    refuse(!(this.restartDelay >= 0), 'restart delay must not be negative');
    refuse(!(Number.isInteger(maxRestarts) && maxRestarts >= 0), 'max restarts must not be negative');
    refuse(typeof this.rootRunner !== 'function', 'root runner is nil');
    refuse(projectId === '', 'project id is empty');
    refuse(taskId === '', 'task id is empty');
  }

  /** What the document advises against, in words. */
  get advice(): readonly string[] {
    return [
      ...(this.maxRestarts >= 1000
        ? [`${this.maxRestarts} restarts are too many: 10 are enough for most tasks, 50 for flaky ones`]
        : []),
      ...(this.restartDelay === 0 ? ['without a restart delay the loop wastes time: 5 s is a good one'] : []),
    ];
  }

  /** Comes back once the task is done, or waits for a person; anything else is thrown. Aborting the signal ends at once. */
  async run(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const { problemWithName } = await import('../store/names.ts');
    const loop = await openLoop(
      {
        preset: 'conductor',
        workspace: this.runDir,
        ...(problemWithName(this.taskId) === null ? { name: this.taskId } : {}),
        fresh: true,
        prompt: `${this.projectId}/${this.taskId}`,
        agent: { run: (context) => this.#attempt(context), name: 'root' },
        maximumIterations: this.maxRestarts,
        iterationTimeout: this.waitTimeout,
        restartDelay: this.restartDelay,
        doneFile: join(this.runDir, 'DONE'),
        policy: {
          children: { waitMs: this.waitTimeout * 1000, pollMs: this.pollInterval * 1000 },
          completion: { handOver: { marker: join(this.runDir, 'WAIT_WITHOUT_RESTART') } },
        },
      },
      (event) => this.#tell(event),
    );
    const result = await drive(loop, signal);
    if (result.outcome?.type === 'stopped' && signal?.aborted === true) throw signal.reason;
    this.#conclude(result);
  }

  async #attempt(context: AgentContext): Promise<{ readonly text: string }> {
    const env = { ...context.env, TASK_FOLDER: this.runDir, JRUN_TASK_FOLDER: this.runDir };
    try {
      const returned = await this.rootRunner({ ...context, env }, context.iteration - 1);
      if (returned instanceof Error) throw returned;
    } catch (error) {
      this.#lastError = error;
      throw error;
    }
    return { text: '' };
  }

  #tell(event: SeenEvent): void {
    if (event.type !== 'run.planned' && event.type !== 'run.ended') return;
    const restart = Number.parseInt(event.run, 10) - 1;
    if (event.type === 'run.planned') return this.#post('INFO', `starting root agent (restart #${restart})`);
    const failure = failureText(event.ending, event.as);
    if (failure !== null) this.#post('WARNING', `root agent failed on restart #${restart}: ${failure}`);
  }

  #conclude({ outcome, reason }: LoopResult): void {
    switch (outcome?.type) {
      case 'done':
        if (outcome.childrenLeft.length === 0)
          this.#post('INFO', 'task completed (DONE marker present, no active children)');
        return;
      case 'waiting':
        this.#post('INFO', 'Wait-without-restart signal detected');
        return;
      case 'iterations-exhausted':
        this.#post('ERROR', `task failed: max restarts (${this.maxRestarts}) exceeded`);
        throw new Error(reason);
      case 'fatal':
      case 'bad-input':
        // The runner's own error, where it is what the loop ended on.
        if (this.#lastError instanceof Error && this.#lastError.message === reason) throw this.#lastError;
        throw new Error(reason.replaceAll(`${this.runDir}${sep}`, ''));
      case 'time-exhausted':
      case 'cost-exhausted':
      case 'tokens-exhausted':
      case 'failures-exhausted':
      case 'stuck':
      case 'prompt-lost':
      case 'stopped':
      case undefined:
        throw new Error(reason);
    }
  }

  #post(type: BusMessage['type'], body: string): void {
    const { projectId, taskId } = this;
    try {
      Promise.resolve(this.messageBus.append({ type, body, projectId, taskId })).catch(() => {});
    } catch {
      // A log that cannot be written is no reason to stop.
    }
  }
}

/** To this document cancelling is not waiting for the end of a step. */
async function drive(loop: Loop, signal: AbortSignal | undefined): Promise<LoopResult> {
  const cancel = (): void => loop.stop({ now: true });
  if (signal?.aborted === true) cancel();
  signal?.addEventListener('abort', cancel);
  try {
    return await loop.run();
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}

function refuse(isWrong: boolean, message: string): void {
  if (isWrong) throw new UserError(message);
}

function refuseNoFolder(path: string): void {
  let found;
  try {
    found = statSync(path);
  } catch (error) {
    throw new UserError(`stat run directory: ${error instanceof Error ? error.message : String(error)}`, 2, {
      cause: error,
    });
  }
  if (!found.isDirectory()) throw new UserError('run directory is not a directory');
}

function seconds(what: string, time: Time): number {
  return typeof time === 'number' ? time : parseDuration(what, time) / 1000;
}

/** The names of the folder and of the one above it; nothing comes from `/`. */
function idsFrom(path: string): { readonly projectId: string; readonly taskId: string } {
  return { projectId: basename(dirname(path)), taskId: basename(path) };
}
