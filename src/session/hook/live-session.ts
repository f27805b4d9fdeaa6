import type { Timers } from './timers.ts';
import type { FirstMessage } from './types.ts';
import type { RalphLoopState } from '../session-file.ts';

/**
 * What a hook remembers of a session beside its state.
 *
 * 1. Whatever is done for a session in the background is done in order, one thing at a time.
 * 2. `generation` grows with everything that makes a step or an injection obsolete: a start, a cancel, an abort, a deletion.
 * 3. There is at most one pending injection.
 */
export class LiveSession {
  generation = 0;
  isStepping = false;
  /** What the state is going to be: it counts instead of the file until the background has done it. */
  wanted: RalphLoopState | null | undefined;
  /** The id of the last loop that was created here and not ended. */
  created: string | undefined;
  /** What the session should be told first, once its loop is created. */
  first: Promise<FirstMessage | null> | null = null;
  /** Nothing of it is needed any more once the background is done. */
  isForgotten = false;
  #work: Promise<void> = Promise.resolve();
  #jobs = 0;
  readonly #timers: Timers;
  #cancelInjection: (() => void) | null = null;
  #recoversUntil = Number.NEGATIVE_INFINITY;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Does something after everything before it. */
  do<T>(job: () => Promise<T>): Promise<T> {
    this.#jobs++;
    const result = this.#work.then(job).finally(() => this.#jobs--);
    this.#work = quietly(result);
    return result;
  }

  get isBusy(): boolean {
    return this.#jobs > 0;
  }

  async settled(): Promise<void> {
    if (!this.isBusy) return;
    await this.#work;
    await this.settled();
  }

  /** Makes the running step and the pending injection obsolete. */
  supersede(): number {
    this.cancelInjection();
    return ++this.generation;
  }

  recoverFor(ms: number): void {
    this.#recoversUntil = this.#timers.now() + ms;
  }

  get isRecovering(): boolean {
    return this.#timers.now() < this.#recoversUntil;
  }

  forgetRecovery(): void {
    this.#recoversUntil = Number.NEGATIVE_INFINITY;
  }

  injectAfter(ms: number, inject: () => void): void {
    this.cancelInjection();
    this.#cancelInjection = this.#timers.after(ms, () => {
      this.#cancelInjection = null;
      inject();
    });
  }

  /** After an error nothing continues for a while, also if the loop is told about the error. */
  get isContinuing(): boolean {
    return (this.isStepping || this.isInjecting) && !this.isRecovering;
  }

  get isInjecting(): boolean {
    return this.#cancelInjection !== null;
  }

  cancelInjection(): void {
    this.#cancelInjection?.();
    this.#cancelInjection = null;
  }
}

async function quietly(job: Promise<unknown>): Promise<void> {
  try {
    await job;
  } catch {
    // The caller of `do` gets the error.
  }
}
