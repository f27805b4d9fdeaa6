/**
 * One budget per family: a loop, the loops that were started from inside its runs, and theirs.
 *
 * 1. Every loop has an entry in the ledger, which its owner alone writes: absolute sums, so that writing one twice changes nothing.
 * 2. What a loop spends counts towards its own limits and towards those of every loop above it. Time is the deadline of the
 *    loop above, never a sum. A loop above without a limit constrains nothing.
 * 3. The owner journals what it reads in the ledger (`family.counted`); the core knows nothing else of the family.
 */
import { charged, unmetered, type Unmetered } from './charge.ts';
import { decide } from './decide.ts';
import type { FamilyCount, Happening, UpperLimits } from './event.ts';
import { ownDeadline, spendingExhausted, spentSoFar } from './limits.ts';
import type { LoopState } from './state.ts';

/** What the family knows of one loop. */
export interface LedgerEntry {
  readonly name: string;
  /** The loop whose run started this one; null for the first loop of the family. */
  readonly payer: string | null;
  /** What counts towards limits: what its runs have used, and what is assumed for runs of unknown usage. */
  readonly usd: number;
  readonly tokens: number;
  /** Runs that the loop itself cannot charge are charged as the dearest run of the family: an agent may start loops that report nothing. */
  readonly unmetered: Readonly<Record<Kind, Unmetered>>;
  readonly limits: UpperLimits['limits'];
}

type Kind = 'usd' | 'tokens';

/** The ledger of a family, as one of its loops uses it. */
export interface LedgerAccess {
  /** Writes the entry of the loop, then reads the others; null for a loop without a family. */
  settle(state: LoopState): FamilyCount | null;
  /** Calls back when an entry may have changed, and returns a function that stops it. */
  watch(onChange: () => void): () => void;
}

/** The entries of a family by the ids of their loops. */
export type Ledger = ReadonlyMap<string, LedgerEntry>;

/** What the owner of a loop writes into its entry. */
export function entryOf(state: LoopState, payer: string | null): LedgerEntry {
  const { costUsd, tokens, timeMs } = state.policy.limits;
  const spent = spentSoFar(state);
  return {
    name: state.name,
    payer,
    usd: charged(state, 'usd', spent).sum,
    tokens: charged(state, 'tokens', spent).sum,
    unmetered: { usd: unmetered(state, 'usd'), tokens: unmetered(state, 'tokens') },
    limits: { usd: costUsd, tokens, timeMs, until: ownDeadline(state) },
  };
}

/** What the ledger says to one of the loops. */
export function countFor(id: string, ledger: Ledger): FamilyCount {
  const others = (upper: string): Pick<UpperLimits, 'others' | 'uncharged'> => {
    const usd = spentBy(upper, 'usd', ledger, id);
    const tokens = spentBy(upper, 'tokens', ledger, id);
    return {
      others: { usd: usd.sum, tokens: tokens.sum },
      uncharged: { usd: usd.uncharged, tokens: tokens.uncharged },
    };
  };
  const loops = familyOf(id, ledger).filter(([loop, entry]) => loop !== id && hasSpent(entry)).length;
  const above = payersOf(id, ledger).flatMap((upper): readonly UpperLimits[] => {
    const entry = ledger.get(upper);
    if (entry === undefined || isUnlimited(entry.limits)) return [];
    return [{ id: upper, name: entry.name, limits: entry.limits, ...others(upper) }];
  });
  return { below: { loops, ...others(id).others }, above };
}

/** The loops above a loop, the nearest first. */
export function payersOf(id: string, ledger: Ledger): readonly string[] {
  const above: string[] = [];
  let payer = ledger.get(id)?.payer ?? null;
  // Entries that name each other have no end.
  while (payer !== null && payer !== id && !above.includes(payer)) {
    above.push(payer);
    payer = ledger.get(payer)?.payer ?? null;
  }
  return above;
}

/** What a loop and all below it have spent, without one of them, and their runs that cannot be charged yet. */
function spentBy(
  upper: string,
  kind: Kind,
  ledger: Ledger,
  except: string,
): { readonly sum: number; readonly uncharged: number | null } {
  const family = familyOf(upper, ledger);
  const dearest = family.reduce((most, [, entry]) => Math.max(most, entry.unmetered[kind].dearest ?? 0), 0);
  const others = family.filter(([loop]) => loop !== except).map(([, entry]) => entry);
  const runs = others.reduce((sum, { unmetered: { [kind]: own } }) => sum + own.runs, 0);
  const known = others.reduce((sum, { [kind]: own }) => sum + own, 0);
  return { sum: known + runs * dearest, uncharged: dearest > 0 ? null : runs };
}

/** A loop and all below it. */
function familyOf(id: string, ledger: Ledger): readonly (readonly [string, LedgerEntry])[] {
  return [...ledger].filter(([loop]) => loop === id || payersOf(loop, ledger).includes(id));
}

function hasSpent({ usd, tokens, unmetered: { usd: ofUsd, tokens: ofTokens } }: LedgerEntry): boolean {
  return usd > 0 || tokens > 0 || ofUsd.runs > 0 || ofTokens.runs > 0;
}

export function isUnlimited({ usd, tokens, timeMs }: UpperLimits['limits']): boolean {
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
 * Whether a count has to be journaled at once, and not only before the next run: another limit holds now, one is
 * reached or no longer reached, or the loop has to do something else. This bounds the number of such events in a large family.
 */
export function isUrgent(state: LoopState, count: FamilyCount): boolean {
  if (!isNews(state, count) || !state.created || state.outcome !== null) return false;
  if (limitsAbove(count) !== limitsAbove(state.family)) return true;
  const next = { ...state, family: count };
  // What is charged for runs of unknown usage can turn out to be less, and a loop that waits must not end by it.
  return reached(state) !== reached(next) || wanted(state) !== wanted(next);
}

/** The limit that is reached, whose it is, and whether what is spent is known. */
function reached(state: LoopState): string {
  const outcome = spendingExhausted(state);
  if (outcome === null) return '';
  const isUnknown = Object.values(outcome).includes(null);
  return `${outcome.type} ${isUnknown} ${'family' in outcome ? outcome.family?.id : ''}`;
}

function limitsAbove({ above }: FamilyCount): string {
  return JSON.stringify(above.map(({ id, limits }) => [id, limits]));
}

function wanted(state: LoopState): string {
  return decide(state)
    .map(({ key }) => key)
    .join(' ');
}
