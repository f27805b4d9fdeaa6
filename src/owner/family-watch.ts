/**
 * The owner's part in the budget of a family: it keeps the account of its loop, and journals what the accounts of the others say as
 * soon as that matters. Before a run and at its end the engine asks by itself (`workspace.ts`).
 */
import type { Engine } from '../engine/engine.ts';
import { isUrgent, type Accounts } from '../loop/family.ts';
import type { LoopEvent } from '../loop/event.ts';
import type { LoopObserver } from './observer.ts';

export class FamilyWatch {
  readonly #accounts: Accounts;
  readonly #engine: Pick<Engine, 'state' | 'write'>;
  #stop: (() => void) | null = null;
  #isClosed = false;

  constructor(accounts: Accounts, engine: Pick<Engine, 'state' | 'write'>) {
    this.#accounts = accounts;
    this.#engine = engine;
  }

  /** Writes the account and reads the others; a loop gets a family with its first child. */
  look(): void {
    if (this.#isClosed) return;
    const { state } = this.#engine;
    const count = this.#accounts.settle(state);
    if (count === null) return;
    this.#stop ??= this.#accounts.watch(() => this.#lookQuietly());
    if (isUrgent(state, count)) this.#engine.write({ type: 'family.counted', ...count });
  }

  /** Keeps the account when the loop has spent something, or has another limit. */
  get observer(): LoopObserver {
    return {
      appended: ({ type }) => {
        // The other observers have not seen the event yet.
        if (this.#stop !== null && SPENDS.has(type)) queueMicrotask(() => this.#lookQuietly());
      },
    };
  }

  close(): void {
    this.#lookQuietly();
    this.#isClosed = true;
    this.#stop?.();
  }

  #lookQuietly(): void {
    try {
      this.look();
    } catch {
      // The next look comes within a second, and before a run a failure ends the loop.
    }
  }
}

const SPENDS: ReadonlySet<LoopEvent['type']> = new Set([
  'run.output',
  'run.ended',
  'control.received',
  'policy.changed',
  'loop.reopened',
  'loop.ended',
]);
