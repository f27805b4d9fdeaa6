import type { Happening } from '../../src/loop/event.ts';
import type { LoopState } from '../../src/loop/state.ts';

/** How an ended loop continues: by a person, or, every other time that it is done, because its end was not confirmed. */
export function reopening(
  { outcome }: LoopState,
  reopens: number,
): Extract<Happening, { type: 'loop.reopened' }> {
  return outcome?.type === 'done' && reopens % 2 === 0
    ? { type: 'loop.reopened', policy: null, because: 'unconfirmed-end' }
    : { type: 'loop.reopened', policy: null };
}
