import type { Changes } from '../../src/loop/event.ts';
import type { Outcome } from '../../src/loop/outcome.ts';
import type { DelayPolicy, LimitsPolicy } from '../../src/loop/policy.ts';
import type { SpendBooks } from './spend-books.ts';

/** Throws with the number of the broken invariant (see the head of `decide.ts`). */
export function must(holds: boolean, invariant: string, what: string): void {
  if (!holds) throw new Error(`${invariant}: ${what}`);
}

/** Deep equality of plain values; much faster than a general comparison, and called a million times. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isObject(a) || !isObject(b)) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let index = 0; index < a.length; index++) if (!same(a[index], b[index])) return false;
    return true;
  }
  // Not `Object.keys`: a list for every comparison takes longer than the comparisons.
  let more = 0;
  for (const key in a) {
    more++;
    const value = b[key];
    if (!same(a[key], value) || (value === undefined && !Object.hasOwn(b, key))) return false;
  }
  for (const _ in b) more--;
  return more === 0;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** A value as read back from a journal. */
export function readBack<T>(written: T): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the caller compares it with the original
  return JSON.parse(JSON.stringify(written)) as T;
}

/** Checks and commits take time after a run before its wait begins; nothing else makes a wait longer. */
export const MAX_WAIT_MS = 500_000;

/** The wait after the n-th consecutive failure. */
export function backoff({ afterFailure }: DelayPolicy, times: number): number {
  return afterFailure.kind === 'fixed' ? afterFailure.ms : doubled(times, afterFailure.capMs);
}

/** The wait after the n-th consecutive outage, whatever the policy says about failures. */
export function outageDelay(times: number): number {
  return doubled(times, 300_000);
}

function doubled(times: number, capMs: number): number {
  return Math.min(2 ** (times - 1) * 1000, capMs);
}

/** Whether the limit of an outcome is reached; true for an outcome without a limit. */
export function isReached(outcome: Outcome, limits: LimitsPolicy, books: Books): boolean {
  const { type } = outcome;
  const none = Number.POSITIVE_INFINITY;
  // The time limit also ends a loop whose usage limit resets only after it.
  const lateReset = type === 'time-exhausted' ? outcome.resetsAt : undefined;
  if (lateReset === null) return limits.timeMs !== null;
  if (lateReset !== undefined) return books.ms + Math.max(0, lateReset - books.now) > (limits.timeMs ?? none);
  const reached = new Map<string, boolean>([
    ['iterations-exhausted', books.iterations >= (limits.iterations ?? none)],
    ['cost-exhausted', isSpent(books.usd, limits.costUsd)],
    ['tokens-exhausted', isSpent(books.tokens, limits.tokens)],
    ['time-exhausted', books.ms >= (limits.timeMs ?? none)],
    ['limit-waits-exhausted', books.limitWaits > (limits.limitWaits ?? none)],
    ['failures-exhausted', books.failures >= (limits.failures ?? none)],
  ]);
  return reached.get(type) ?? true;
}

type Charged = ReturnType<SpendBooks['charged']>;

function isSpent({ sum, isUnknown }: Charged, limit: number | null): boolean {
  return limit !== null && (isUnknown || sum + 1e-9 >= limit);
}

interface Books {
  readonly iterations: number;
  readonly usd: Charged;
  readonly tokens: Charged;
  readonly ms: number;
  readonly now: number;
  readonly failures: number;
  readonly limitWaits: number;
}

/** What there is to commit; null if there is nothing or a commit is not possible. */
export function changesIn({ any, committed, error }: Changes): 'some' | 'committed' | null {
  if (error !== null) return null;
  return any ? 'some' : committed === true ? 'committed' : null;
}
