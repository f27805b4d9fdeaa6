import type { Effect } from '../loop/effect.ts';
import type { Clock } from './clock.ts';

/** Something in flight: the effect in its last form, and whether it is still wanted. */
export class Task {
  readonly #controller = new AbortController();
  #effect: Effect;
  #changed: (() => void) | null = null;

  constructor(effect: Effect) {
    this.#effect = effect;
  }

  get effect(): Effect {
    return this.#effect;
  }

  get interrupted(): AbortSignal {
    return this.#controller.signal;
  }

  interrupt(): void {
    if (!this.interrupted.aborted) this.#controller.abort();
  }

  update(effect: Effect): void {
    this.#effect = effect;
    this.#changed?.();
  }

  /** Calls back whenever the effect's form may have changed. */
  onChange(changed: (() => void) | null): void {
    this.#changed = changed;
  }

  /** Sleeps until the moment given, or that of the effect itself, wherever it moves; false when interrupted. */
  sleep(clock: Clock, fixed?: number): Promise<boolean> {
    const moment = (): number => fixed ?? ('until' in this.#effect ? this.#effect.until : 0);
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
