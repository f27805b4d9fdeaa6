/**
 * The owner's part in the budget of a family: it keeps the entry of its loop in the ledger, and journals what the others say as
 * soon as that matters. Before a run and at its end the engine asks by itself (`workspace.ts`).
 */
import type { Engine } from '../engine/engine.ts';
import { isUrgent, type LedgerAccess } from '../loop/family.ts';
import type { LoopEvent } from '../loop/event.ts';
import type { LoopObserver } from './observer.ts';

export class FamilyWatch {
  readonly #ledger: LedgerAccess;
  readonly #engine: Pick<Engine, 'state' | 'write'>;
  #stop: (() => void) | null = null;
  #isClosed = false;

  constructor(ledger: LedgerAccess, engine: Pick<Engine, 'state' | 'write'>) {
    this.#ledger = ledger;
    this.#engine = engine;
  }

  /** Writes the entry and reads the others; a loop gets a family with its first child. */
  look(): void {
    try {
      if (!this.#isClosed) this.#settle();
    } catch {
      // The next look comes within a second, and before a run a failure ends the loop.
    }
  }

  /** Only writes the entry: the loop is given to another owner. */
  publish(): void {
    try {
      this.#ledger.settle(this.#engine.state);
    } catch {
      // The other owner writes it too.
    }
  }

  /** Keeps the entry when the loop has spent something, or has another limit. */
  get observer(): LoopObserver {
    return {
      appended: ({ type }) => {
        // The other observers have not seen the event yet.
        if (this.#stop !== null && SPENDS.has(type)) queueMicrotask(() => this.look());
      },
    };
  }

  close(): void {
    this.look();
    this.#isClosed = true;
    this.#stop?.();
  }

  #settle(): void {
    const { state } = this.#engine;
    const count = this.#ledger.settle(state);
    if (count === null) return;
    this.#stop ??= this.#ledger.watch(() => this.look());
    if (isUrgent(state, count)) this.#engine.write({ type: 'family.counted', ...count });
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
