/**
 * The ledger of a family: `family/` in the state of its first loop, with one file per loop (`loop/family.ts`).
 *
 * 1. Only the owner of a loop changes its entry, whole or not at all, so that no lock is needed. A child gets its entry with its
 *    place, before its first event.
 * 2. An entry that is missing or damaged is made from the journal of its loop. The owner of that loop corrects it within a second.
 * 3. A loop writes its entry before it reads the others. Of two loops that do so at once, at least one sees the other's sum.
 * 4. Without the state of the first loop no budget can be counted, so no loop of the family gets another child.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from '../files/files.ts';
import { readJsonFile } from '../files/read-json.ts';
import {
  entryOf,
  countFor,
  payersOf,
  type LedgerEntry,
  type LedgerAccess,
  type Ledger,
} from '../loop/family.ts';
import { ALL_METERED, type Unmetered } from '../loop/charge.ts';
import type { FamilyCount } from '../loop/event.ts';
import type { LimitsPolicy, Policy } from '../loop/policy.ts';
import { fields, fits, nullable, rule, string, whole, type Rule } from '../loop/shape.ts';
import type { LoopState } from '../loop/state.ts';
import { watchFolder } from '../process/watch.ts';
import { UserError } from '../user-error.ts';
import { loopOf } from './enclosing-runs.ts';
import { loopIdOf } from './run-environment.ts';
import { loopName } from '../loop/child-report.ts';
import { folderAt, readLoopAt } from './read-loop.ts';
import { loopId } from './spec-shape.ts';
import type { FamilyPlace, ParentRun, Spec } from './spec.ts';
import { removeQuietly, writeJson } from './state-folder.ts';
import { archiveFolder, loopsFolder } from './store.ts';

/** Where a loop belongs that is started from inside this run. Throws if there is no budget to count in. */
export function placeBelow({ run }: ParentRun): FamilyPlace {
  const payer = loopIdOf(run);
  const above = payer === null ? null : loopOf({ loop: payer });
  const place = { root: above?.family?.root ?? above?.id ?? '', payer: payer ?? '' };
  if (stateOf(place.root) === null)
    throw new UserError(
      'the first loop of this family was removed, so its budget cannot be counted and it can start no more loops: do the work yourself',
    );
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
  writeJson(folder, id, entry);
}

/** Removes the entry of a loop that could not be created. */
export function removeEntry({ root }: FamilyPlace, id: string): void {
  const folder = ledgerOf(root);
  if (folder !== null) removeQuietly(join(folder, `${id}.json`));
}

/** Changes the limits of a loop that has no owner, for its running children; its next owner learns of them from its inbox. */
export function setLimits(spec: Pick<Spec, 'id' | 'family'>, changes: Partial<LimitsPolicy>): void {
  const folder = familyFolder(spec);
  const entry = folder === null ? null : readEntry(folder, spec.id);
  if (folder === null || entry === null) return;
  const { usd, tokens, timeMs, until } = entry.limits;
  const { costUsd = usd, tokens: most = tokens, timeMs: time = timeMs } = changes;
  const end = time === null || timeMs === null || until === null ? null : until - timeMs + time;
  writeJson(folder, spec.id, { ...entry, limits: { usd: costUsd, tokens: most, timeMs: time, until: end } });
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
  if (folder === null) return null;
  const { id, family } = spec;
  const payer = family?.payer ?? null;
  const entry = entryOf(state, payer);
  if (JSON.stringify(readEntry(folder, id)) !== JSON.stringify(entry)) writeJson(folder, id, entry);
  const ledger = readLedger(folder);
  return countFor(id, payer === null ? ledger : withPayers(folder, payer, ledger));
}

/** What the ledger says now, for a process that only shows the loop; what the journal says if it is gone. */
export function familyNow(spec: Pick<Spec, 'id' | 'family'>, state: LoopState): FamilyCount {
  const folder = familyFolder(spec);
  return folder === null ? state.family : countFor(spec.id, readLedger(folder));
}

function ledgerOf(root: string): string | null {
  const state = stateOf(root);
  return state === null ? null : join(state, 'family');
}

function stateOf(root: string): string | null {
  if (root === '') return null;
  return (
    [loopsFolder(), archiveFolder()].map((loops) => join(loops, root)).find((path) => existsSync(path)) ??
    null
  );
}

function readLedger(folder: string): Ledger {
  const entries = namesIn(folder).flatMap((name): readonly [string, LedgerEntry][] => {
    if (!name.endsWith('.json')) return [];
    const id = name.slice(0, -'.json'.length);
    const entry = readEntry(folder, id) ?? fromJournal(id);
    return entry === null ? [] : [[id, entry]];
  });
  return new Map(entries);
}

function readEntry(folder: string, id: string): LedgerEntry | null {
  const value = readJsonFile(join(folder, `${id}.json`));
  return isEntry(value) ? value : null;
}

/** The ledger with the entries of a loop and all above it, which are made where they are missing. */
function withPayers(folder: string, payer: string, found: Ledger): Ledger {
  const ledger = new Map(found);
  const seen = new Set<string>();
  // Entries that name each other have no end.
  for (let id: string | null = payer; id !== null && !seen.has(id); id = ledger.get(id)?.payer ?? null) {
    seen.add(id);
    const entry = ledger.get(id) ?? fromJournal(id);
    if (entry === null) break;
    if (!ledger.has(id)) writeJson(folder, id, entry);
    ledger.set(id, entry);
  }
  return ledger;
}

/** The entry as the owner of the loop would write it; null if its files are gone. */
function fromJournal(id: string): LedgerEntry | null {
  const state = stateOf(id);
  const folder = state === null ? null : folderAt(state);
  const loop = folder === null ? null : readLoopAt(folder);
  if (loop === null || loop.trouble !== null) return null;
  return entryOf(loop.state, loop.spec.family?.payer ?? null);
}

function isEntry(value: unknown): value is LedgerEntry {
  return fits(ENTRY, value);
}

const amount = rule('a number', (value) => typeof value === 'number' && Number.isFinite(value));
const unmeteredRuns = fields({ dearest: nullable(amount), runs: whole(0) } satisfies Record<
  keyof Unmetered,
  Rule
>);
const ENTRY = fields({
  name: string,
  payer: nullable(loopId),
  usd: amount,
  tokens: amount,
  unmetered: fields({ usd: unmeteredRuns, tokens: unmeteredRuns }),
  limits: fields({
    usd: nullable(amount),
    tokens: nullable(amount),
    timeMs: nullable(amount),
    until: nullable(amount),
  } satisfies Record<keyof LedgerEntry['limits'], Rule>),
} satisfies Record<keyof LedgerEntry, Rule>);
