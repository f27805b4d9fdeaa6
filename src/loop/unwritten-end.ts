import { decide } from './decide.ts';
import type { Happening } from './event.ts';
import type { LoopState } from './state.ts';

/** The fatal end that an owner could not write any more, as on a full disk; nothing if the loop has none. */
export function unwrittenEnd(state: LoopState): readonly Happening[] {
  if (state.control.stop !== null) return [];
  return decide(state).flatMap((effect) => {
    const event = effect.type === 'record' ? effect.event : null;
    return event?.type === 'loop.ended' && event.outcome.type === 'fatal' ? [event] : [];
  });
}
