import type { LoopEvent } from '../../src/loop/event.ts';
import { FakeClock } from './fake-clock.ts';
import type { FakeWorld } from './world.ts';

/**
 * One process of the harness in a fake world. When it dies, everything that it waited for is gone with it: its
 * promises are never kept, its timers never fire, and nothing of it reaches the journal or the world any more.
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

  /** `trouble` is asked at the end of every effect whether something went wrong that nobody has foreseen. */
  constructor(world: FakeWorld, pages: Pages, trouble: () => boolean) {
    this.clock = new FakeClock(world);
    this.#pages = pages;
    this.#trouble = trouble;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** The first rule that was broken, kept here because a driver that catches errors would hide it. */
  get broken(): { readonly error: unknown } | null {
    return this.#broken;
  }

  /** What was begun and is not over. */
  get inFlight(): readonly string[] {
    return [...this.#inFlight];
  }

  /** The driver was asked to leave: from now on it may only let go of what it has begun (E7). */
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

  /** Holds the driver to its rules; a driver that has broken one does not live on. */
  must(holds: boolean, rule: string, what: string): void {
    if (holds || this.#isDead) return;
    this.breaks(new Error(`${rule}: ${what}`));
  }

  breaks(error: unknown): void {
    this.#broken ??= { error };
    this.die();
  }

  /** Something is about to touch the world: everything that was written must be able to survive the machine. */
  touches(what: string): void {
    const { events, synced } = this.#pages;
    this.must(
      synced === events.length,
      'E3',
      `${what} begins with ${events.length - synced} events unsynced`,
    );
  }

  /** The core never wants two things at once, so while one is in flight no other may begin. */
  begin(what: string): () => void {
    // A run that was found or started meanwhile is followed for as long as it takes to let go of it.
    this.must(!this.#isLeaving || what.startsWith('run '), 'E7', `${what} begins after the driver was left`);
    this.must(this.#inFlight.size === 0, 'E2', `${what} begins beside ${this.inFlight.join(', ')}`);
    this.#inFlight.add(what);
    return () => this.#inFlight.delete(what);
  }

  /** Something that is begun, and is over after so long. */
  takes<T>(ms: number, what: string, answer: () => T): Promise<T> {
    const over = this.begin(what);
    return this.later(ms, () => {
      over();
      if (this.#trouble()) throw new Error('something has gone wrong');
      return answer();
    });
  }

  /** An answer after so long, if there is anybody to hear it then. */
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

/** A journal in memory that outlives the process, and how much of it would outlive the machine. */
export interface Pages {
  readonly events: LoopEvent[];
  synced: number;
}
