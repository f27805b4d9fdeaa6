import type { LoopEvent } from './event.ts';
import type { LimitsPolicy } from './policy.ts';
import type { LoopState } from './state.ts';

/** A limit that was changed while the loop ran. */
export interface LimitChange {
  readonly limit: ChangeableLimit;
  /** Null for no limit; of `unchanged`, the number of iterations after which the loop ends. */
  readonly from: number | null;
  readonly to: number | null;
  /** Who changed it: a person with `ralph set`, or a program that could write `state.json`. */
  readonly by: 'ralph set' | 'state.json';
  /** The last iteration that was started; 0 before the first. */
  readonly iteration: number;
}

export type ChangeableLimit = Exclude<
  keyof LimitsPolicy,
  'unchangedNotice' | 'repeats' | 'lookedAt' | 'stopRunning'
>;

const CHANGEABLE: readonly ChangeableLimit[] = [
  'iterations',
  'timeMs',
  'costUsd',
  'tokens',
  'failures',
  'limitWaits',
  'attemptsPerItem',
  'outputBytes',
  'unchanged',
];

/** The limits that an event changes; `state` is the state before it. What a resume changes is part of its own command. */
export function limitChanges(event: LoopEvent, state: LoopState): readonly LimitChange[] {
  const change = changeIn(event, state);
  if (change === null || !state.created || state.outcome !== null) return [];
  const { limits, by } = change;
  return CHANGEABLE.flatMap((limit) => {
    const [from, to] = [numberOf(state.policy.limits[limit]), numberOf(limits[limit])];
    return to === undefined || from === undefined || to === from
      ? []
      : [{ limit, from, to, by, iteration: state.iteration }];
  });
}

function changeIn(
  event: LoopEvent,
  state: LoopState,
): { readonly limits: Partial<LimitsPolicy>; readonly by: LimitChange['by'] } | null {
  if (event.type === 'policy.changed')
    return event.by === undefined ? null : { limits: event.policy.limits, by: event.by };
  if (event.type !== 'control.received' || event.control.type !== 'set') return null;
  // A repeated control counts once.
  return state.control.seen.includes(event.id) ? null : { limits: event.control.limits, by: 'ralph set' };
}

function numberOf(value: number | LimitsPolicy['unchanged'] | undefined): number | null | undefined {
  return typeof value === 'object' && value !== null ? value.end : value;
}
