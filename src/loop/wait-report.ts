/** How long a loop has waited, folded from its journal for the report. */
import { decide } from './decide.ts';
import type { LoopEvent } from './event.ts';
import type { LoopState } from './state.ts';

export interface WaitReport {
  /** Waits that took a second or longer: every iteration ends with a wait, even one of 0 ms. */
  readonly count: number;
  readonly ms: number;
  /** The current wait, if there is one, does not count before this moment: a person may have paused and resumed it. */
  readonly from: number;
}

export const NO_WAITS: WaitReport = { count: 0, ms: 0, from: 0 };

/** The waits after an event; `before` and `after` are the states around it. */
export function waitsAfter(
  waits: WaitReport,
  event: LoopEvent,
  before: LoopState,
  after: LoopState,
): WaitReport {
  if (!MAY_END_WAIT.has(event.type)) return waits;
  const wait = waitIn(before);
  if (wait === null) return event.type === 'control.received' ? { ...waits, from: after.now } : waits;
  if (waitIn(after)?.key === wait.key) return waits;
  const ms = after.now - Math.max(before.turn.at, waits.from);
  return ms < SHORTEST_MS ? waits : { count: waits.count + 1, ms: waits.ms + ms, from: after.now };
}

const MAY_END_WAIT: ReadonlySet<LoopEvent['type']> = new Set([
  'timer.fired',
  'control.received',
  'policy.changed',
]);

const SHORTEST_MS = 1000;

function waitIn(state: LoopState): { readonly key: string } | null {
  return decide(state).find(({ type }) => type === 'wait') ?? null;
}
