/**
 * How often each item of the plan was the next one in an iteration that did not finish it. An item that reaches the limit is
 * blocked: probes pass it over, and the next one is shown.
 */
import type { Outcome } from './outcome.ts';
import type { PlanPolicy } from './policy.ts';
import type { LoopState } from './state.ts';

/** An item, by the key that a probe has given it, and the number of iterations in which it was the next one. */
export interface Attempts {
  readonly key: string;
  readonly times: number;
}

/** What a probe has to know of the plan. */
export interface PlanToProbe extends PlanPolicy {
  /** The items that were the next one, if there is a limit; the probe says which of them are done. */
  readonly tried?: readonly { readonly key: string; readonly isBlocked: boolean }[];
}

export function planToProbe({ policy, attempts, turn }: LoopState): PlanToProbe | null {
  const limit = policy.limits.attemptsPerItem;
  if (policy.plan === null || limit === null) return policy.plan;
  const tried = attempts.map(({ key, times }) => ({ key, isBlocked: times >= limit }));
  const next = turn.before?.plan?.next?.key;
  const isNew = next !== undefined && tried.every(({ key }) => key !== next);
  return { ...policy.plan, tried: isNew ? [...tried, { key: next, isBlocked: false }] : tried };
}

/** The attempts after an iteration: one more of the item that its prompt showed, and none of an item that is done. */
export function attemptsAfter({ attempts, turn: { before, after } }: LoopState): readonly Attempts[] {
  const finished = new Set([...(before?.plan?.finished ?? []), ...(after?.plan?.finished ?? [])]);
  const key = before?.plan?.next?.key;
  const times = attempts.find((item) => item.key === key)?.times ?? 0;
  const others = attempts.filter((item) => item.key !== key);
  return [...others, ...(key === undefined ? [] : [{ key, times: times + 1 }])]
    .filter((item) => !finished.has(item.key))
    .slice(-MAX_ITEMS);
}

/** More items than a plan has, unless an agent renames them all the time. */
const MAX_ITEMS = 2000;

/** The end of a loop whose open items are all blocked. */
export function allBlocked({ policy, turn }: LoopState): Outcome | null {
  const { next, problem, blocked = [], moreBlocked = 0 } = turn.before?.plan ?? { next: null, problem: null };
  const limit = policy.limits.attemptsPerItem;
  if (limit === null || next !== null || problem !== null || blocked.length === 0) return null;
  return { type: 'stuck', unchanged: limit, blocked, ...(moreBlocked === 0 ? {} : { moreBlocked }) };
}
