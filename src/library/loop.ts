import type { StopCause } from '../loop/outcome.ts';
import type { LoopState } from '../loop/state.ts';
import { UserError } from '../user-error.ts';
import { RecentEvents, type SeenEvent } from './recent-events.ts';
import type { OwnedLoop } from '../loops/loops.ts';
import { loopResult, type LoopResult } from '../loops/result.ts';

/** A loop that this program owns. It starts with `run()`, prints nothing and handles no signals. */
export class Loop {
  readonly name: string;
  /** Unique; a name can be reused. */
  readonly id: string;
  /** The folder of its journal and of the logs of its runs. */
  readonly folder: string;
  /** Its folder in the workspace, with the files for people and agents. */
  readonly workspaceFolder: string;
  /** Warnings about the agent, for the user. */
  readonly notes: readonly string[];
  readonly #owned: OwnedLoop;
  readonly #events = new RecentEvents();
  readonly #listener: (event: SeenEvent) => void;
  readonly #signal: AbortSignal | null;
  readonly #onAbort = (): void => this.#stop(false, causeOf(this.#signal?.reason));
  #result: Promise<LoopResult> | null = null;

  /** Use `createLoop` or `resumeLoop`. */
  constructor(owned: OwnedLoop, signal: AbortSignal | undefined, listener: (event: SeenEvent) => void) {
    this.name = owned.spec.name;
    this.id = owned.spec.id;
    this.folder = owned.folder.path;
    this.workspaceFolder = owned.folder.workspaceFolder.path;
    this.notes = owned.notes;
    this.#owned = owned;
    this.#signal = signal ?? null;
    this.#listener = listener;
    if (this.#signal?.aborted === true) this.#onAbort();
    this.#signal?.addEventListener('abort', this.#onAbort);
  }

  get state(): LoopState {
    return this.#owned.state;
  }

  /**
   * Every journaled event and every event of the agent, until the loop ends or pauses. A late reader starts with the
   * last 1000 events; a slow one gets an `events.missed`. The loop does not wait for readers.
   */
  get events(): AsyncIterable<SeenEvent> {
    return this.#events;
  }

  /** Runs the loop until it ends or pauses. Further calls return the same promise. */
  run(): Promise<LoopResult> {
    this.#result ??= this.#drive();
    return this.#result;
  }

  /** Stops the loop after the running step, or at once with `now`. */
  stop({ now = false }: { readonly now?: boolean } = {}): void {
    this.#stop(now, 'person');
  }

  /** Pauses after the running iteration: `run()` returns, and `resumeLoop` continues. */
  pause(): void {
    this.#owned.receive({ type: 'pause' });
  }

  /** Adds a message to the agent's next prompt. */
  tell(text: string): void {
    this.#owned.receive({ type: 'tell', text });
  }

  /** Answers a question of the agent: the oldest in `state.questions`, or the one with this id. */
  answer(text: string, question: string | null = null): void {
    this.#owned.receive({ type: 'answer', question, text });
  }

  /** Releases a loop without running it, so that another process can own it. */
  close(): void {
    if (this.#result !== null) return;
    this.#result = Promise.reject(new UserError(`the loop "${this.name}" was closed without being run`));
    this.#result.catch(() => {});
    this.#release();
    this.#owned.close();
  }

  async #drive(): Promise<LoopResult> {
    const show = (event: SeenEvent): void => {
      this.#events.push(event);
      this.#listener(event);
    };
    try {
      const stop = await this.#owned.drive({ appended: show, agent: (event, at) => show({ ...event, at }) });
      if (stop.why === 'lost') throw new UserError(stop.error.message, 3, { cause: stop.error });
      return loopResult(this.#owned);
    } finally {
      this.#release();
    }
  }

  #stop(now: boolean, by: StopCause): void {
    this.#owned.receive({ type: 'stop', now, by });
  }

  #release(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#events.end();
  }
}

/** `AbortSignal.timeout` aborts with a TimeoutError. */
function causeOf(reason: unknown): StopCause {
  return reason instanceof Error && reason.name === 'TimeoutError' ? 'deadline' : 'signal';
}
