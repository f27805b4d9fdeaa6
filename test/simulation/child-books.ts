import type { LoopEvent } from '../../src/loop/event.ts';
import { must, same } from './plain.ts';

/** Which child loops are active, as the journal says. */
export class ChildBooks {
  readonly #active = new Set<string>();

  book({ type, child }: Extract<LoopEvent, { type: 'child.started' | 'child.ended' }>): void {
    if (type === 'child.ended')
      must(this.#active.delete(child), 'L6', 'a child loop ends that is not active');
    else must(!this.#active.has(child), 'L6', 'a child loop starts twice');
    if (type === 'child.started') this.#active.add(child);
  }

  /** Compares them with those that are left at the end. */
  compare(left: readonly string[]): void {
    must(same([...this.#active], left), 'L10', 'the child loops that are left are not the active ones');
  }
}
