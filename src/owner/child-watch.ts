/** Journals when child loops start and end, and what the family spends, while a loop has an owner, and when it is told of a change of theirs. */
import { join } from 'node:path';
import type { Engine } from '../engine/engine.ts';
import { watchFolder } from '../process/watch.ts';
import { childChanges, forgetEndedChildren, registeredChildren } from '../store/children.ts';
import { ledgerAccess } from '../store/family.ts';
import { isLoopId } from '../loop/child-report.ts';
import type { StartedLoop } from '../store/run-environment.ts';
import { loopsFolder, type LoopFolder } from '../store/store.ts';
import { FamilyWatch } from './family-watch.ts';

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
  look(): void {
    this.family.look();
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
        watchFolder(join(loopsFolder(), child), () => this.#lookQuietly()),
      );
  }

  #lookQuietly(): void {
    try {
      this.look();
    } catch {
      // The state may be removed and made again meanwhile; the next look comes within a second.
    }
  }
}
