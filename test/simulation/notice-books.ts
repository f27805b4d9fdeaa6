import type { Effect } from '../../src/loop/effect.ts';
import type { LoopEvent } from '../../src/loop/event.ts';
import type { LoopState } from '../../src/loop/state.ts';
import { must } from './plain.ts';
import type { SpendBooks } from './spend-books.ts';

/** Whether an effect is allowed beside an open run: a notice about a limit, or the alarm for one. */
export function isBeside(effect: Effect): boolean {
  return effect.type === 'alarm' || (effect.type === 'record' && effect.event.type === 'limit.neared');
}

/** The oracle's own account of the limits that the loop has said are nearly reached (L17). */
export class NoticeBooks {
  readonly #told = new Map<Neared['limit'], number>();
  #hasNoticed = false;
  /** The time limit when the last run was planned; null once anything else has happened than the run itself. */
  #timeMs: number | null = null;

  book(before: LoopState, event: LoopEvent, after: LoopState, spending: SpendBooks): void {
    if (event.type === 'limit.neared') this.#neared(event, before, spending);
    if (event.type === 'unchanged.noticed') this.#noticed(before);
    if (event.type === 'run.planned') this.#planned(before, spending);
    if (event.type === 'run.ended' && event.ending.how !== 'interrupted') this.#ended(after);
    if (DISTURBANCES.has(event.type)) this.#timeMs = null;
  }

  #neared({ limit, used, of }: Neared, before: LoopState, spending: SpendBooks): void {
    must(of === before.policy.limits[limit], 'L17', `a notice about another limit than ${limit}`);
    must(!this.#isTold(limit, of), 'L17', `the limit ${limit} of ${of} is told of twice`);
    const known = usedOf(limit, before, spending);
    must(Math.abs(used - known) < 1e-6, 'L17', `${used} of ${limit} in the notice, ${known} in the books`);
    must(used > 0.799 * of && used < of, 'L17', `a notice when ${used} of ${of} ${limit} are used`);
    this.#told.set(limit, of);
  }

  #noticed({ policy: { limits }, turn }: LoopState): void {
    must(!this.#hasNoticed && limits.unchanged === null, 'L16', 'the missing limit is mentioned unasked');
    must(
      turn.checks.every((result) => result?.code === 0),
      'L16',
      'the missing limit is mentioned although a check fails',
    );
    this.#hasNoticed = true;
  }

  #planned(before: LoopState, spending: SpendBooks): void {
    const { limits } = before.policy;
    this.#timeMs = limits.timeMs;
    for (const limit of ['costUsd', 'tokens', 'timeMs'] as const) {
      const isTold = this.#isTold(limit, limits[limit]);
      const isNear = usedOf(limit, before, spending) >= 0.801 * (limits[limit] ?? Infinity);
      must(isTold || !isNear, 'L17', `a run is planned, and nothing was said about ${limit}`);
    }
  }

  /** The time passes in the middle of a run too. */
  #ended({ policy, activeMs }: LoopState): void {
    const of = policy.limits.timeMs;
    const isTold = of !== this.#timeMs || this.#isTold('timeMs', of);
    const isNear = activeMs > Math.ceil(0.8 * (of ?? Infinity));
    must(isTold || !isNear, 'L17', `a run ends after ${activeMs} of ${of} ms, and nothing was said`);
  }

  #isTold(limit: Neared['limit'], of: number | null): boolean {
    return of === null || (this.#told.get(limit) ?? 0) >= of;
  }
}

const DISTURBANCES: ReadonlySet<LoopEvent['type']> = new Set([
  'control.received',
  'policy.changed',
  'owner.changed',
]);

type Neared = Extract<LoopEvent, { type: 'limit.neared' }>;

function usedOf(limit: Neared['limit'], { activeMs }: LoopState, spending: SpendBooks): number {
  return limit === 'timeMs' ? activeMs : spending.charged(limit === 'costUsd' ? 'usd' : 'tokens').sum;
}
