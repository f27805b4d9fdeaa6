import type { Effect } from '../loop/effect.ts';
import type { Clock } from './clock.ts';

/** An effect in flight: its latest form, whether it is still wanted, and whether its owner is leaving. */
export class Task {
  readonly #interrupt = new AbortController();
  readonly #leave = new AbortController();
  #effect: Effect;
  #changed: (() => void) | null = null;

  constructor(effect: Effect) {
    this.#effect = effect;
  }

  get effect(): Effect {
    return this.#effect;
  }

  get interrupted(): AbortSignal {
    return this.#interrupt.signal;
  }

  interrupt(): void {
    if (!this.interrupted.aborted) this.#interrupt.abort();
  }

  /** Aborted when the owner leaves: the task detaches from its work instead of ending it. */
  get left(): AbortSignal {
    return this.#leave.signal;
  }

  leave(): void {
    if (!this.left.aborted) this.#leave.abort();
  }

  update(effect: Effect): void {
    this.#effect = effect;
    this.#changed?.();
  }

  /** Calls back whenever the form of the effect may have changed. */
  onChange(changed: (() => void) | null): void {
    this.#changed = changed;
  }

  /** Sleeps until the given moment, or until that of the effect, which may move; false when interrupted. */
  sleep(clock: Clock, fixed?: number): Promise<boolean> {
    const moment = (): number =>
      fixed ?? ('until' in this.#effect ? (this.#effect.until ?? Number.POSITIVE_INFINITY) : 0);
    if (this.interrupted.aborted || clock.now() >= moment())
      return Promise.resolve(!this.interrupted.aborted);
    return new Promise((resolve) => {
      let armed = moment();
      let cancel = clock.at(armed, () => finish(true));
      const finish = (slept: boolean): void => {
        cancel();
        this.#changed = null;
        this.interrupted.removeEventListener('abort', giveUp);
        resolve(slept);
      };
      const giveUp = (): void => finish(false);
      this.interrupted.addEventListener('abort', giveUp);
      this.#changed = () => {
        if (moment() === armed) return;
        armed = moment();
        cancel();
        cancel = clock.at(armed, () => finish(true));
      };
    });
  }
}
