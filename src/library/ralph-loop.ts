/** The loop of document 000 as a class: restarts a root runner until its run directory contains a file `DONE`. */
import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, normalize, resolve } from 'node:path';
import type { Draft } from '../bus/bus.ts';
import { problemWithName } from '../loop/names.ts';
import { parseDuration } from '../settings/values.ts';
import type { Time } from '../settings/settings.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { openLoop } from './library.ts';
import { FailedAttempt, type AgentContext } from './function-agent.ts';
import type { Loop } from './loop.ts';
import { fatalKind } from './runner-error.ts';
import { rejectUnknown } from './unknown-options.ts';
import type { LoopResult } from '../loops/result.ts';

/**
 * Runs the root agent once. An error that it throws or returns makes the attempt fail; a fatal one ends the loop, see
 * `runner-error.ts`. Attempts count from 0.
 */
export type RootRunner = (context: AgentContext, attempt: number) => unknown;

/** Receives the messages of the loop. The loop ignores its errors. */
export interface MessageBus {
  append(message: BusMessage): unknown;
}

export interface BusMessage {
  readonly type: (typeof TYPES)[number];
  readonly body: string;
  readonly projectId: string;
  readonly taskId: string;
  /** The run that it is about; empty for the loop itself. */
  readonly runId?: string | undefined;
  /** By these fields the loop recognises its own messages. */
  readonly meta?: Readonly<Record<string, string>> | undefined;
}

/** Times are seconds, or strings with a unit: `'5m'`. */
export interface RalphLoopOptions {
  readonly rootRunner: RootRunner;
  /** Maximum number of runs (default 100; 10 are enough for most tasks, 50 for flaky ones). */
  readonly maxRestarts?: number | undefined;
  /** Maximum time of one run, and of the wait for child loops (default 300 s). */
  readonly waitTimeout?: Time | undefined;
  /** Interval between two looks at the child loops (default 1 s). */
  readonly pollInterval?: Time | undefined;
  /** Delay after every run (default 1 s; 5 s suit transient failures). */
  readonly restartDelay?: Time | undefined;
  /** Default: the last two segments of the run directory. */
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
  /** The folder of the task, with `DONE`, `runs` and `TASK-MESSAGE-BUS.md`. */
  readonly runDir: string;
  readonly messageBus: MessageBus;
  readonly maxRestarts: number;
  /** In seconds, as the next two. */
  readonly waitTimeout: number;
  readonly pollInterval: number;
  readonly restartDelay: number;
  readonly projectId: string;
  readonly taskId: string;
  readonly rootRunner: RootRunner;
  /** What the last attempt has thrown. */
  #lastError: unknown = null;

  constructor(runDir: string, messageBus: MessageBus, options: RalphLoopOptions) {
    const isEmpty = typeof runDir !== 'string' || runDir.trim() === '' || normalize(runDir) === '.';
    reject(isEmpty, `run directory is empty: RalphLoop needs the path of a folder, got ${shown(runDir)}`);
    const hasAppend = typeof messageBus?.append === 'function';
    reject(
      !hasAppend,
      `message bus is nil: RalphLoop needs one with an append() method, got ${shown(messageBus)}`,
    );
    this.runDir = resolve(runDir);
    rejectNoFolder(this.runDir);
    rejectUnknown(options, OPTIONS);
    const { maxRestarts = 100, waitTimeout = 300, pollInterval = 1, restartDelay = 1 } = options;
    this.messageBus = messageBus;
    this.maxRestarts = maxRestarts;
    this.waitTimeout = seconds('waitTimeout', waitTimeout);
    this.pollInterval = seconds('pollInterval', pollInterval);
    this.restartDelay = seconds('restartDelay', restartDelay);
    this.rootRunner = options.rootRunner;
    const { projectId, taskId } = options.projectTask ?? idsFrom(this.runDir);
    const got = (value: unknown): string => `got ${shown(value)}`;
    reject(!(this.waitTimeout > 0), `wait timeout must be positive: waitTimeout, ${got(waitTimeout)}`);
    reject(!(this.pollInterval > 0), `poll interval must be positive: pollInterval, ${got(pollInterval)}`);
    reject(
      !(this.restartDelay >= 0),
      `restart delay must not be negative: restartDelay, ${got(restartDelay)}`,
    );
    const isCount = Number.isInteger(maxRestarts) && maxRestarts >= 0;
    reject(maxRestarts < 0, `max restarts must not be negative: maxRestarts, ${got(maxRestarts)}`);
    reject(!isCount, `maxRestarts must be a whole number >= 0, ${got(maxRestarts)}`);
    reject(
      typeof this.rootRunner !== 'function',
      `root runner is nil: rootRunner must be a function, ${got(this.rootRunner)}`,
    );
    this.projectId = required('project id', projectId, this.runDir);
    this.taskId = required('task id', taskId, this.runDir);
  }

  /** Warnings about values that the document advises against. */
  get advice(): readonly string[] {
    return [
      ...(this.maxRestarts >= 1000
        ? [`${this.maxRestarts} restarts are too many: 10 are enough for most tasks, 50 for flaky ones`]
        : []),
      ...(this.restartDelay === 0 ? ['a restart delay of 0 wastes time: use 5 s'] : []),
    ];
  }

  /**
   * Returns when the task is done or waits for a person, and throws otherwise. Aborting the signal stops at once and
   * throws its reason.
   */
  async run(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const { projectId, taskId } = this;
    const loop = await openLoop(
      {
        preset: 'conductor',
        workspace: this.runDir,
        ...(problemWithName(taskId) === null ? { name: taskId } : {}),
        fresh: true,
        prompt: taskIn(this.runDir) ?? `${projectId}/${taskId}`,
        agent: { run: (context) => this.#attempt(context), name: 'root' },
        maxIterations: this.maxRestarts,
        iterationTimeout: this.waitTimeout,
        restartDelay: this.restartDelay,
        childWait: this.waitTimeout,
        pollInterval: this.pollInterval,
      },
      () => {},
      { task: { project: projectId, task: taskId }, post: (message) => this.#post(message) },
    );
    const result = await drive(loop, signal);
    if (result.outcome?.type === 'stopped' && signal?.aborted === true) throw signal.reason;
    this.#conclude(result);
  }

  async #attempt(context: AgentContext): Promise<{ readonly text: string }> {
    this.#lastError = null;
    try {
      const returned = await this.rootRunner(context, context.iteration - 1);
      if (returned instanceof Error) throw returned;
    } catch (error) {
      this.#lastError = error;
      throw new FailedAttempt(error, fatalKind(error));
    }
    return { text: '' };
  }

  #conclude({ outcome, reason }: LoopResult): void {
    switch (outcome?.type) {
      case 'done':
      case 'waiting':
        return;
      case 'fatal':
      case 'bad-input':
        // The runner's own error, if the loop ended on it.
        if (this.#lastError instanceof Error && isAbout(reason, this.#lastError)) throw this.#lastError;
        throw new Error(reason);
      case 'iterations-exhausted':
      case 'time-exhausted':
      case 'cost-exhausted':
      case 'tokens-exhausted':
      case 'failures-exhausted':
      case 'limit-waits-exhausted':
      case 'stuck':
      case 'prompt-lost':
      case 'stopped':
      case undefined:
        throw new Error(reason);
    }
  }

  /** A loop does not fail because its log does. */
  async #post({ type, body, projectId, taskId, runId, meta }: Draft): Promise<void> {
    // The others are for the bus of a loop of the command.
    if (!isOwnType(type)) return;
    try {
      await this.messageBus.append({ type, body, projectId, taskId, runId, meta });
    } catch {
      // See above.
    }
  }
}

const TYPES = ['INFO', 'WARNING', 'ERROR'] as const;

function isOwnType(type: string): type is BusMessage['type'] {
  return TYPES.some((known) => known === type);
}

/** The task in the user's words; null if there is none. */
function taskIn(runDir: string): string | null {
  try {
    return readFileSync(join(runDir, 'TASK.md'), 'utf8').trim() || null;
  } catch {
    return null;
  }
}

/** Document 000 cancels at once, without waiting for the running step. */
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

/** A reason has only the first line of an error's message. */
function isAbout(reason: string, error: Error): boolean {
  return fatalKind(error) !== undefined || reason.endsWith(error.message.split('\n', 1)[0] ?? '');
}

function reject(isWrong: boolean, message: string): void {
  if (isWrong) throw new UserError(message);
}

function rejectNoFolder(path: string): void {
  let found;
  try {
    found = statSync(path);
  } catch (error) {
    throw new UserError(`stat run directory ${path}: ${reasonOf(error)}`, 2, { cause: error });
  }
  reject(!found.isDirectory(), `run directory is not a directory: ${path}`);
}

function seconds(what: string, time: Time): number {
  return typeof time === 'number' ? time : parseDuration(what, time) / 1000;
}

/** The names of the folder and of its parent; null at the root. */
function idsFrom(path: string): { readonly projectId: string | null; readonly taskId: string | null } {
  const [projectId, taskId] = [dirname(path), path].map((folder) => basename(folder));
  return { projectId: projectId || null, taskId: taskId || null };
}

function required(name: string, id: string | null, runDir: string): string {
  if (typeof id === 'string' && id !== '') return id;
  throw new UserError(
    id === null
      ? `${name} is empty: the run directory ${runDir} has no name to take it from; pass projectTask`
      : `${name} is empty: projectTask must have a string for it, got ${shown(id)}`,
  );
}

function shown(value: unknown): string {
  if (value === undefined) return 'undefined';
  return typeof value === 'object' && value !== null ? 'an object' : JSON.stringify(value);
}
