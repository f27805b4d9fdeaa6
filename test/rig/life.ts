import type { LoopEvent } from '../../src/loop/event.ts';
import { FakeClock } from './fake-clock.ts';
import type { FakeWorld } from './world.ts';

/**
 * One driver process in a fake world. After its crash its promises never settle, its timers never fire, and it no longer
 * reaches the journal or the world.
 */
export class Life {
  readonly clock: FakeClock;
  readonly #pages: Pages;
  readonly #trouble: () => boolean;
  readonly #inFlight = new Set<string>();
  readonly #stopping = new Set<string>();
  #isDead = false;
  #isLeaving = false;
  #broken: { readonly error: unknown } | null = null;

  /** `trouble` says at the end of every effect whether an unexpected error occurs. */
  constructor(world: FakeWorld, pages: Pages, trouble: () => boolean) {
    this.clock = new FakeClock(world);
    this.#pages = pages;
    this.#trouble = trouble;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** The first broken rule, kept here because the driver may catch errors. */
  get broken(): { readonly error: unknown } | null {
    return this.#broken;
  }

  /** What has begun and not ended. */
  get inFlight(): readonly string[] {
    return [...this.#inFlight];
  }

  /** The driver was asked to leave: from now on it may only detach from what it has begun (E7). */
  leave(): void {
    this.#isLeaving = true;
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** The driver has begun to end a run. */
  stops(run: string): void {
    this.#stopping.add(run);
  }

  /** Whether the driver has begun to end a run. */
  isStopping(run: string): boolean {
    return this.#stopping.has(run);
  }

  die(): void {
    this.#isDead = true;
    this.clock.stop();
  }

  /** Checks a rule of the driver; breaking one ends this process. */
  must(holds: boolean, rule: string, what: string): void {
    if (holds || this.#isDead) return;
    this.breaks(new Error(`${rule}: ${what}`));
  }

  breaks(error: unknown): void {
    this.#broken ??= { error };
    this.die();
  }

  /** Called before the world is touched: every written event must be synced. */
  touches(what: string): void {
    const { events, synced } = this.#pages;
    this.must(
      synced === events.length,
      'E3',
      `${what} begins with ${events.length - synced} events unsynced`,
    );
  }

  /** The core never wants two effects at once, so no other may begin while one is in flight. */
  begin(what: string): () => void {
    // A run that was found or started meanwhile is followed until the driver has detached from it.
    this.must(!this.#isLeaving || what.startsWith('run '), 'E7', `${what} begins after the driver was left`);
    this.must(this.#inFlight.size === 0, 'E2', `${what} begins while in flight: ${this.inFlight.join(', ')}`);
    this.#inFlight.add(what);
    return () => this.#inFlight.delete(what);
  }

  /** An effect that takes this long. */
  takes<T>(ms: number, what: string, answer: () => T): Promise<T> {
    const over = this.begin(what);
    return this.later(ms, () => {
      over();
      if (this.#trouble()) throw new Error('an unexpected error');
      return answer();
    });
  }

  /** Resolves after this long, unless the process has crashed. */
  later<T>(ms: number, answer: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.clock.at(this.clock.now() + ms, () => {
        try {
          resolve(answer());
        } catch (error) {
          reject(error);
        }
      });
    });
  }
}

/** A journal in memory that survives the process; `synced` events also survive the machine. */
export interface Pages {
  readonly events: LoopEvent[];
  synced: number;
}
