/** Journals when child loops start and end, and what the family spends, while a loop has an owner. */
import { join } from 'node:path';
import type { Engine } from '../engine/engine.ts';
import { watchFolder } from '../process/watch.ts';
import { childChanges, forgetEndedChildren, registeredChildren } from '../home/children.ts';
import { ledgerAccess } from '../home/family.ts';
import { isLoopId } from '../loop/child-report.ts';
import type { StartedLoop } from '../home/run-environment.ts';
import { loopsFolder, type LoopFolder } from '../home/home.ts';
import { isUrgent, type LedgerAccess } from '../loop/family.ts';
import type { LoopEvent } from '../loop/event.ts';
import type { LoopObserver } from './observer.ts';

export class ChildWatch {
  readonly family: FamilyWatch;
  readonly #folder: LoopFolder;
  readonly #engine: Engine;
  /** How to stop watching the state of each active child. */
  readonly #watched = new Map<string, () => void>();
  #isClosed = false;

  constructor({ spec, folder }: Pick<StartedLoop, 'spec' | 'folder'>, engine: Engine) {
    this.family = new FamilyWatch(ledgerAccess(spec), engine);
    this.#folder = folder;
    this.#engine = engine;
  }

  /** Looks at the registered children and at those that the journal calls active. */
  update(): void {
    this.family.update();
    const { outcome, children } = this.#engine.state;
    if (this.#isClosed || outcome !== null) return;
    if (children.length === 0 && registeredChildren(this.#folder).length === 0) return;
    const changes = childChanges(this.#folder, this.#engine.state);
    for (const change of changes) this.#engine.write(change);
    // What is forgotten must be known after a crash.
    if (changes.length > 0) this.#engine.sync();
    if (this.#engine.lost === null) forgetEndedChildren(this.#folder, this.#engine.state);
    this.#watch(this.#engine.state.children.filter(isLoopId));
  }

  close(): void {
    this.family.close();
    this.#isClosed = true;
    this.#watch([]);
  }

  #watch(children: readonly string[]): void {
    const active = new Set(this.#isClosed ? [] : children);
    for (const [child, stop] of this.#watched) {
      if (active.delete(child)) continue;
      stop();
      this.#watched.delete(child);
    }
    for (const child of active)
      this.#watched.set(
        child,
        watchFolder(join(loopsFolder(), child), () => this.#updateQuietly()),
      );
  }

  #updateQuietly(): void {
    try {
      this.update();
    } catch {
      // The state may be removed and made again meanwhile; the next look comes within a second.
    }
  }
}

/**
 * The owner's part in the budget of a family: it keeps the entry of its loop in the ledger, and journals what the others say as
 * soon as that matters. Before a run and at its end the engine asks by itself (`workspace.ts`).
 */
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
  update(): void {
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
        if (this.#stop !== null && SPENDS.has(type)) queueMicrotask(() => this.update());
      },
    };
  }

  close(): void {
    this.update();
    this.#isClosed = true;
    this.#stop?.();
  }

  #settle(): void {
    const { state } = this.#engine;
    const count = this.#ledger.settle(state);
    if (count === null) return;
    this.#stop ??= this.#ledger.watch(() => this.update());
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
