/** How much of a limit is used, as people read it. */
import { duration } from './counted.ts';
import { charged, totalTokens } from './charge.ts';
import { NEARED_LIMITS } from './limit-notices.ts';
import { spentSoFar } from './limits.ts';
import type { NearedLimit } from './policy.ts';
import type { LoopState } from './state.ts';

/** A limit on cost, tokens or active time, and what counts towards it. */
export interface LimitUse {
  readonly limit: NearedLimit;
  /** Null if it is unknown. */
  readonly used: number | null;
  readonly of: number;
}

/** The limits that a loop has, with what the running agent has used; `sinceMs` is the active time since the last event. */
export function usesOfLimits(state: LoopState, sinceMs: number): readonly LimitUse[] {
  const { limits } = state.policy;
  return NEARED_LIMITS.flatMap((limit) => {
    const of = limits[limit];
    // The journal of another version may have anything here.
    return typeof of === 'number' ? [{ limit, used: usedOf(state, limit, sinceMs), of }] : [];
  });
}

function usedOf(state: LoopState, limit: NearedLimit, sinceMs: number): number | null {
  if (limit === 'timeMs') return state.activeMs + sinceMs;
  const spent = spentSoFar(state);
  const kind = limit === 'costUsd' ? 'usd' : 'tokens';
  const below = state.family.below[kind];
  const isKnown = below > 0 || (kind === 'usd' ? spent.source !== null : totalTokens(spent.tokens) > 0);
  if (!isKnown && state.everStarted) return null;
  return charged(state, kind, spent).sum + below;
}

/** The limits on cost and tokens of the loops above, with what all their loops have used. */
export function usesAbove(
  state: LoopState,
): readonly { readonly name: string; readonly uses: readonly LimitUse[] }[] {
  const spent = spentSoFar(state);
  return state.family.above.flatMap(({ name, limits, others }) => {
    const uses = (['usd', 'tokens'] as const).flatMap((kind): readonly LimitUse[] => {
      const of = limits[kind];
      const used = charged(state, kind, spent).sum + others[kind];
      return of === null ? [] : [{ limit: kind === 'usd' ? 'costUsd' : 'tokens', used, of }];
    });
    return uses.length === 0 ? [] : [{ name, uses }];
  });
}

/** `$1.20 of $5.00`, `81000 of 100000 tokens`, `48m 0s of 1h 0m`, `unknown of $5.00`. */
export function limitUse({ limit, used, of }: LimitUse): string {
  switch (limit) {
    case 'costUsd':
      return `${used === null ? 'unknown' : dollars(used, of)} of ${dollars(of, of)}`;
    case 'tokens':
      return `${used ?? 'unknown'} of ${of} tokens`;
    case 'timeMs':
      return `${duration(used ?? 0, ' ')} of ${duration(of, ' ')}`;
  }
}

/** Cents say nothing about a small limit. */
function dollars(usd: number, limit: number): string {
  return `$${usd.toFixed(limit < 1 ? 4 : 2)}`;
}

/** What is used of the limit on cost; null without one. */
export function costOfLimit(uses: readonly LimitUse[]): string | null {
  const cost = uses.find(({ limit }) => limit === 'costUsd');
  return cost === undefined ? null : limitUse(cost);
}

/** `82 % of the cost limit used: $4.10 of $5.00`. */
export function nearedText(use: LimitUse & { readonly used: number }): string {
  const percent = Math.floor((use.used / use.of) * 100 + 1e-6);
  return `${percent} % of the ${NAMES[use.limit]} limit used: ${limitUse(use)}`;
}

const NAMES: Readonly<Record<NearedLimit, string>> = { costUsd: 'cost', tokens: 'token', timeMs: 'time' };
