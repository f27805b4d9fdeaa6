import type { OwnedLoop } from '../owner/owner.ts';
import type { StopCause } from '../loop/outcome.ts';
import type { LoopState } from '../loop/state.ts';
import { UserError } from '../user-error.ts';
import { RecentEvents, type SeenEvent } from './recent-events.ts';
import { loopResult, type LoopResult } from '../views/loop-result.ts';

/** A loop that this program owns. It does nothing before `run()`, prints nothing and handles no signals. */
export class Loop {
  readonly name: string;
  /** Its own, whatever becomes of its name. */
  readonly id: string;
  /** Its folder, with the journal and the logs of every run. */
  readonly folder: string;
  /** What its user should know before it begins. */
  readonly notes: readonly string[];
  readonly #owned: OwnedLoop;
  readonly #events = new RecentEvents();
  readonly #listener: (event: SeenEvent) => void;
  readonly #signal: AbortSignal | null;
  readonly #onAbort = (): void => this.#stop(false, causeOf(this.#signal?.reason));
  #result: Promise<LoopResult> | null = null;

  /** Made by `createLoop` and `resumeLoop`. */
  constructor(owned: OwnedLoop, signal: AbortSignal | undefined, listener: (event: SeenEvent) => void) {
    this.name = owned.spec.name;
    this.id = owned.spec.id;
    this.folder = owned.folder.path;
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
   * Everything that is journaled and everything that the agent does, until the loop does not go on. Whoever comes late
   * begins with the last thousand events; whoever is slower than that gets an `events.missed`. The loop waits for nobody.
   */
  get events(): AsyncIterable<SeenEvent> {
    return this.#events;
  }

  /** Drives the loop until it ends or rests. Called again it gives the same promise. */
  run(): Promise<LoopResult> {
    this.#result ??= this.#drive();
    return this.#result;
  }

  /** Ends the loop after the running step, or with `now` in the middle of it. */
  stop({ now = false }: { readonly now?: boolean } = {}): void {
    this.#stop(now, 'person');
  }

  /** Starts nothing after the running iteration: `run()` comes back, and `resumeLoop` goes on. */
  pause(): void {
    this.#owned.receive({ type: 'pause' });
  }

  /** Words for the agent's next prompt. */
  tell(text: string): void {
    this.#owned.receive({ type: 'tell', text });
  }

  /** Lets go of a loop that is not to be run, so that somebody else can. */
  close(): void {
    if (this.#result !== null) return;
    this.#result = Promise.reject(new UserError(`the loop "${this.name}" was closed`));
    this.#result.catch(() => {});
    this.#leave();
    this.#owned.close();
  }

  async #drive(): Promise<LoopResult> {
    const show = (event: SeenEvent): void => {
      this.#events.push(event);
      this.#listener(event);
    };
    try {
      const stop = await this.#owned.drive({ appended: show, agent: show });
      if (stop.why === 'lost') throw new UserError(stop.error.message, 3, { cause: stop.error });
      return loopResult(this.#owned);
    } finally {
      this.#leave();
    }
  }

  #stop(now: boolean, by: StopCause): void {
    this.#owned.receive({ type: 'stop', now, by });
  }

  #leave(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#events.end();
  }
}

/** `AbortSignal.timeout` says so. */
function causeOf(reason: unknown): StopCause {
  return reason instanceof Error && reason.name === 'TimeoutError' ? 'deadline' : 'signal';
}
