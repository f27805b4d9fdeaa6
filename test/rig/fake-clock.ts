import type { Clock } from '../../src/engine/clock.ts';
import type { FakeWorld } from './world.ts';

/** The world's clock with the timers of one process; time passes only in `jump`. */
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
    // A timer at infinity never fires, nor does one of a process that has ended.
    if (Number.isFinite(moment) && !this.#isStopped) this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** The time of the next timer; null if there is none. */
  get next(): number | null {
    return this.#first()?.at ?? null;
  }

  /** Advances to the next timer and fires the first one set for that time, and no other. */
  jump(): void {
    const first = this.#first();
    if (first === null) throw new Error('no timer is set');
    this.#timers.delete(first);
    this.#world.advanceTo(first.at);
    first.wake();
  }

  /** The process has ended: no more timers fire. */
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
