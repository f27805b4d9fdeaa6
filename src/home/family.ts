/**
 * The ledger of a family: `family/` in the state of its first loop, with one file per loop (`loop/family.ts`).
 *
 * 1. Only the owner of a loop changes its entry, whole or not at all, so that no lock is needed. A child gets its entry with its
 *    place, before its first event.
 * 2. An entry that is missing or damaged is made from the journal of its loop (`ledger.ts`). The owner of that loop corrects it within
 *    a second. If that is impossible, the loops of the family end before their next run: they cannot know what is left.
 * 3. A loop writes its entry before it reads the others. Of two loops that do so at once, at least one sees the other's sum.
 * 4. Without the state of the first loop no budget can be counted: no loop of the family gets another child, and those below a limit
 *    end before their next run. `ralph rm` refuses to remove it meanwhile.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  entryOf,
  countFor,
  isUnlimited,
  payersOf,
  type LedgerEntry,
  type LedgerAccess,
  type Ledger,
} from '../loop/family.ts';
import { ALL_METERED } from '../loop/charge.ts';
import type { FamilyCount } from '../loop/event.ts';
import type { LimitsPolicy, Policy } from '../loop/policy.ts';
import type { LoopState } from '../loop/state.ts';
import { watchFolder } from '../process/watch.ts';
import { UserError } from '../user-error.ts';
import { statusOfChild } from './children.ts';
import { loopOf } from './enclosing-runs.ts';
import {
  forgetEntry,
  fromJournal,
  readEntry,
  readLedger,
  restoreLedger,
  stateOf,
  writeEntry,
} from './ledger.ts';
import { loopIdOf } from './run-environment.ts';
import { loopName } from '../loop/child-report.ts';
import { readLoopOf } from './read-loop.ts';
import { shortList } from '../loop/counted.ts';
import type { FamilyPlace, ParentRun, Spec } from './spec.ts';

/** Where a loop belongs that is started from inside this run. Throws if there is no budget to count in. */
export function placeBelow({ run }: ParentRun): FamilyPlace {
  const payer = loopIdOf(run);
  const above = payer === null ? null : loopOf({ loop: payer });
  const place = { root: above?.family?.root ?? above?.id ?? '', payer: payer ?? '' };
  if (stateOf(place.root) === null)
    throw new UserError(`${UNCOUNTABLE} and it can start no more loops: do the work yourself`);
  return place;
}

/** The loops above, the nearest first, with their limits. */
export function upperEntries(place: FamilyPlace): readonly LedgerEntry[] {
  const folder = ledgerOf(place.root);
  if (folder === null) return [];
  const ledger = withPayers(folder, place.payer, readLedger(folder));
  return [place.payer, ...payersOf(place.payer, ledger)].flatMap((id) => ledger.get(id) ?? []);
}

/** Makes the entry of a new loop, and those of the loops above it that have none yet. */
export function openEntry({ root, payer }: FamilyPlace, id: string, { limits }: Policy): void {
  const folder = ledgerOf(root);
  if (folder === null) return;
  withPayers(folder, payer, readLedger(folder));
  const { costUsd: usd, tokens, timeMs } = limits;
  const entry = {
    name: loopName(id),
    payer,
    usd: 0,
    tokens: 0,
    unmetered: { usd: ALL_METERED, tokens: ALL_METERED },
    limits: { usd, tokens, timeMs, until: null },
  };
  writeEntry(folder, id, entry);
}

/** Removes the entry of a loop that could not be created. */
export function removeEntry({ root }: FamilyPlace, id: string): void {
  const folder = ledgerOf(root);
  if (folder !== null) forgetEntry(folder, id);
}

/** Changes the limits of a loop that has no owner, for its running children; its next owner learns of them from its inbox. */
export function setLimits(spec: Pick<Spec, 'id' | 'family'>, changes: Partial<LimitsPolicy>): void {
  const folder = familyFolder(spec);
  const entry = folder === null ? null : (readEntry(folder, spec.id) ?? fromJournal(spec.id));
  if (folder === null || entry === null) return;
  const { usd, tokens, timeMs, until } = entry.limits;
  const { costUsd = usd, tokens: most = tokens, timeMs: time = timeMs } = changes;
  const end = time === null || timeMs === null || until === null ? null : until - timeMs + time;
  writeEntry(folder, spec.id, { ...entry, limits: { usd: costUsd, tokens: most, timeMs: time, until: end } });
}

/** The folder of the ledger that a loop belongs to; null for a loop without a family, or whose first loop was removed. */
function familyFolder({ id, family }: Pick<Spec, 'id' | 'family'>): string | null {
  const folder = ledgerOf(family?.root ?? id);
  // Only a child makes the ledger, also again.
  return folder !== null && (family !== undefined || existsSync(folder)) ? folder : null;
}

/** The ledger as the owner of a loop uses it. */
export function ledgerAccess(spec: Pick<Spec, 'id' | 'family'>): LedgerAccess {
  return {
    settle: (state) => settle(spec, state),
    watch: (onChange) => watchFolder(ledgerOf(spec.family?.root ?? spec.id) ?? '', onChange),
  };
}

function settle(spec: Pick<Spec, 'id' | 'family'>, state: LoopState): FamilyCount | null {
  const folder = familyFolder(spec);
  if (folder === null && state.family.above.length > 0) throw new UserError(UNCOUNTABLE);
  if (folder === null) return null;
  const { id, family } = spec;
  const payer = family?.payer ?? null;
  const entry = entryOf(state, payer);
  const written = readEntry(folder, id);
  if (JSON.stringify(written) !== JSON.stringify(entry)) writeEntry(folder, id, entry);
  // Those of loops that have ended may be missing too, and no owner makes them again.
  if (written === null) restoreLedger(folder, family?.root ?? id);
  const ledger = readLedger(folder);
  return countFor(id, payer === null ? ledger : withPayers(folder, payer, ledger));
}

const UNCOUNTABLE = 'the first loop of this family was removed, so its budget cannot be counted';

/** Throws if a loop has the ledger of loops that still run, and a limit of it holds for them. */
export function refuseRemoval({ id, family }: Pick<Spec, 'id' | 'family'>): void {
  const folder = family === undefined ? familyFolder({ id }) : null;
  if (folder === null) return;
  const ledger = readLedger(folder);
  const running = [...ledger.keys()].filter((loop) => loop !== id && isUnfinished(loop));
  if (running.length === 0 || [...ledger.values()].every(({ limits }) => isUnlimited(limits))) return;
  throw new UserError(
    `cannot remove "${loopName(id)}": loops that it has started use its budget (${shortList(running.map(loopName), 8)}); wait for them or stop them first`,
  );
}

/** Whether a loop may have another run. A process may still own one that has ended. */
function isUnfinished(id: string): boolean {
  return readLoopOf(id)?.state.outcome === null && statusOfChild(id).is === 'active';
}

/** What the ledger says now, for a process that only shows the loop; what the journal says if it is gone or unreadable. */
export function familyNow(spec: Pick<Spec, 'id' | 'family'>, state: LoopState): FamilyCount {
  try {
    const folder = familyFolder(spec);
    return folder === null ? state.family : countFor(spec.id, readLedger(folder));
  } catch {
    return state.family;
  }
}

function ledgerOf(root: string): string | null {
  const state = stateOf(root);
  return state === null ? null : join(state, 'family');
}

/** The ledger with the entries of a loop and all above it, which are made where they are missing. */
function withPayers(folder: string, payer: string, found: Ledger): Ledger {
  const ledger = new Map(found);
  const seen = new Set<string>();
  // Entries that name each other have no end.
  for (let id: string | null = payer; id !== null && !seen.has(id); id = ledger.get(id)?.payer ?? null) {
    seen.add(id);
    const entry = ledger.get(id) ?? fromJournal(id);
    if (entry === null)
      throw new UserError(
        `cannot count the budget of the family: the loop "${loopName(id)}" was removed, and so was its entry in ${folder}`,
      );
    if (!ledger.has(id)) writeEntry(folder, id, entry);
    ledger.set(id, entry);
  }
  return ledger;
}
