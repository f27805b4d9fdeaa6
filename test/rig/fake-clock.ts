import type { Clock } from '../../src/engine/clock.ts';
import type { FakeWorld } from './world.ts';

/** The world's clock with the timers of one process: time passes only when it is told to. */
export class FakeClock implements Clock {
  readonly #world: FakeWorld;
  readonly #timers = new Set<Timer>();
  #isStopped = false;

  constructor(world: FakeWorld) {
    this.#world = world;
  }

  now(): number {
    return this.#world.clock;
  }

  at(moment: number, wake: () => void): () => void {
    const timer = { at: Math.max(moment, this.now()), wake };
    // What never comes is nothing to wait for, and a process that is gone does not wait.
    if (Number.isFinite(moment) && !this.#isStopped) this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** When somebody is to be woken next; null when nobody is. */
  get next(): number | null {
    return this.#first()?.at ?? null;
  }

  /** Goes on to the next timer and wakes the first one who set it, and nobody else yet. */
  jump(): void {
    const first = this.#first();
    if (first === null) throw new Error('nobody is to be woken');
    this.#timers.delete(first);
    this.#world.goOnTo(first.at);
    first.wake();
  }

  /** Its process is gone: nobody is woken any more. */
  stop(): void {
    this.#isStopped = true;
    this.#timers.clear();
  }

  #first(): Timer | null {
    let first: Timer | null = null;
    for (const timer of this.#timers) if (first === null || timer.at < first.at) first = timer;
    return first;
  }
}

interface Timer {
  readonly at: number;
  readonly wake: () => void;
}
