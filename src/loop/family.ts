/**
 * One budget per family: a loop, the loops that were started from inside its runs, and theirs.
 *
 * 1. Every loop has an account, which its owner alone writes: absolute sums, so that writing one twice changes nothing.
 * 2. What a loop spends counts towards its own limits and towards those of every loop above it. Time is the deadline of the
 *    loop above, never a sum. A loop above without a limit constrains nothing.
 * 3. The owner journals what it reads in the accounts (`family.counted`); the core knows nothing else of the family.
 */
import { charged } from './charge.ts';
import { decide } from './decide.ts';
import type { FamilyCount, Happening, UpperLimits } from './event.ts';
import { ownDeadline, spentSoFar } from './limits.ts';
import type { LoopState } from './state.ts';

/** What the family knows of one loop. */
export interface Account {
  readonly name: string;
  /** The loop whose run started this one; null for the first loop of the family. */
  readonly payer: string | null;
  /** What counts towards limits: what its runs have used, and what is assumed for runs of unknown usage. */
  readonly usd: number;
  readonly tokens: number;
  readonly limits: UpperLimits['limits'];
}

/** The accounts of a family, as one of its loops uses them. */
export interface Accounts {
  /** Writes the account of the loop, then reads those of the others; null for a loop without a family. */
  settle(state: LoopState): FamilyCount | null;
  /** Calls back when an account may have changed, and returns a function that stops it. */
  watch(onChange: () => void): () => void;
}

/** All accounts of a family, by the ids of their loops. */
export type Ledger = ReadonlyMap<string, Account>;

/** What the owner of a loop writes into its account. */
export function accountOf(state: LoopState, payer: string | null): Account {
  const { costUsd, tokens, timeMs } = state.policy.limits;
  const spent = spentSoFar(state);
  return {
    name: state.name,
    payer,
    usd: charged(state, 'usd', spent).sum,
    tokens: charged(state, 'tokens', spent).sum,
    limits: { usd: costUsd, tokens, timeMs, until: ownDeadline(state) },
  };
}

/** What the accounts say to one of the loops. */
export function countFor(id: string, ledger: Ledger): FamilyCount {
  const below = sumBelow(id, ledger);
  const own = ledger.get(id);
  const above = payersOf(id, ledger).flatMap((upper): readonly UpperLimits[] => {
    const account = ledger.get(upper);
    if (account === undefined || isUnlimited(account.limits)) return [];
    const all = sumBelow(upper, ledger);
    const others = {
      usd: account.usd + all.usd - (own?.usd ?? 0),
      tokens: account.tokens + all.tokens - (own?.tokens ?? 0),
    };
    return [{ id: upper, name: account.name, limits: account.limits, others }];
  });
  return { below, above };
}

/** The loops above a loop, the nearest first. */
export function payersOf(id: string, ledger: Ledger): readonly string[] {
  const above: string[] = [];
  let payer = ledger.get(id)?.payer ?? null;
  // Accounts that name each other have no end.
  while (payer !== null && payer !== id && !above.includes(payer)) {
    above.push(payer);
    payer = ledger.get(payer)?.payer ?? null;
  }
  return above;
}

function sumBelow(id: string, ledger: Ledger): FamilyCount['below'] {
  const below = [...ledger].filter(([loop]) => payersOf(loop, ledger).includes(id));
  return {
    loops: below.filter(([, { usd, tokens }]) => usd > 0 || tokens > 0).length,
    usd: below.reduce((sum, [, { usd }]) => sum + usd, 0),
    tokens: below.reduce((sum, [, { tokens }]) => sum + tokens, 0),
  };
}

function isUnlimited({ usd, tokens, timeMs }: UpperLimits['limits']): boolean {
  return usd === null && tokens === null && timeMs === null;
}

/** The count as an event; null if it says nothing new. */
export function newCount(state: LoopState, count: FamilyCount | null): Happening | null {
  return count === null || !isNews(state, count) ? null : { type: 'family.counted', ...count };
}

function isNews({ family }: LoopState, { below, above }: FamilyCount): boolean {
  return JSON.stringify({ below, above }) !== JSON.stringify(family);
}

/**
 * Whether a count has to be journaled at once, and not only before the next run: another limit holds now, or the loop has to do
 * something else. This bounds the number of such events in a large family.
 */
export function isUrgent(state: LoopState, count: FamilyCount): boolean {
  if (!isNews(state, count) || !state.created || state.outcome !== null) return false;
  if (limitsAbove(count) !== limitsAbove(state.family)) return true;
  return wanted(state) !== wanted({ ...state, family: count });
}

function limitsAbove({ above }: FamilyCount): string {
  return JSON.stringify(above.map(({ id, limits }) => [id, limits]));
}

function wanted(state: LoopState): string {
  return decide(state)
    .map(({ key }) => key)
    .join(' ');
}
