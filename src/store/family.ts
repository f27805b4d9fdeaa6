/**
 * The ledger of a family: `family/` in the state of its first loop, with one account per loop (`loop/family.ts`).
 *
 * 1. Only the owner of a loop writes its account, whole or not at all, so that no lock is needed. A child gets its account with its
 *    place, before its first event.
 * 2. An account that is missing or damaged is made from the journal of its loop.
 * 3. A loop writes its account before it reads the others. Of two loops that do so at once, at least one sees the other's sum.
 * 4. Without the state of the first loop no budget can be counted, so no loop of the family gets another child.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from '../files/files.ts';
import { readJsonFile } from '../files/read-json.ts';
import { accountOf, countFor, payersOf, type Account, type Accounts, type Ledger } from '../loop/family.ts';
import type { FamilyCount } from '../loop/event.ts';
import type { Policy } from '../loop/policy.ts';
import { fields, fits, nullable, rule, string, type Rule } from '../loop/shape.ts';
import type { LoopState } from '../loop/state.ts';
import { watchFolder } from '../process/watch.ts';
import { UserError } from '../user-error.ts';
import { loopOf } from './enclosing-runs.ts';
import { loopIdOf } from './run-environment.ts';
import { loopName } from './names.ts';
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
export function upperAccounts(place: FamilyPlace): readonly Account[] {
  const folder = ledgerOf(place.root);
  if (folder === null) return [];
  const ledger = withPayers(folder, place.payer, readLedger(folder));
  return [place.payer, ...payersOf(place.payer, ledger)].flatMap((id) => ledger.get(id) ?? []);
}

/** Opens the account of a new loop, and those of the loops above it that have none yet. */
export function openAccount({ root, payer }: FamilyPlace, id: string, { limits }: Policy): void {
  const folder = ledgerOf(root);
  if (folder === null) return;
  withPayers(folder, payer, readLedger(folder));
  const { costUsd: usd, tokens, timeMs } = limits;
  const account = {
    name: loopName(id),
    payer,
    usd: 0,
    tokens: 0,
    limits: { usd, tokens, timeMs, until: null },
  };
  writeJson(folder, id, account);
}

/** Takes the account of a loop back that could not be created. */
export function closeAccount({ root }: FamilyPlace, id: string): void {
  const folder = ledgerOf(root);
  if (folder !== null) removeQuietly(join(folder, `${id}.json`));
}

/** The folder of the accounts that a loop belongs to; null for a loop without a family, or whose first loop was removed. */
function familyFolder({ id, family }: Pick<Spec, 'id' | 'family'>): string | null {
  const folder = ledgerOf(family?.root ?? id);
  return folder !== null && existsSync(folder) ? folder : null;
}

/** The accounts as the owner of a loop uses them. */
export function accountsOf(spec: Pick<Spec, 'id' | 'family'>): Accounts {
  return {
    settle: (state) => settle(spec, state),
    watch: (onChange) => watchFolder(ledgerOf(spec.family?.root ?? spec.id) ?? '', onChange),
  };
}

function settle({ id, family }: Pick<Spec, 'id' | 'family'>, state: LoopState): FamilyCount | null {
  const folder = familyFolder({ id, ...(family === undefined ? {} : { family }) });
  if (folder === null) return null;
  const payer = family?.payer ?? null;
  const account = accountOf(state, payer);
  const found = readLedger(folder);
  if (JSON.stringify(found.get(id)) !== JSON.stringify(account)) writeJson(folder, id, account);
  const ledger = payer === null ? readLedger(folder) : withPayers(folder, payer, readLedger(folder));
  return countFor(id, new Map([...ledger, [id, account]]));
}

/** What the accounts say now, for a process that only shows the loop; what the journal says if they are gone. */
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
  const ids = namesIn(folder).flatMap((name) =>
    name.endsWith('.json') ? [name.slice(0, -'.json'.length)] : [],
  );
  const accounts = ids.flatMap((id): readonly [string, Account][] => {
    const value = readJsonFile(join(folder, `${id}.json`));
    const account = isAccount(value) ? value : fromJournal(id);
    return account === null ? [] : [[id, account]];
  });
  return new Map(accounts);
}

/** The ledger with the accounts of a loop and all above it, which are made where they are missing. */
function withPayers(folder: string, payer: string, found: Ledger): Ledger {
  const ledger = new Map(found);
  for (let id: string | null = payer; id !== null && fits(loopId, id); id = ledger.get(id)?.payer ?? null) {
    if (ledger.has(id)) continue;
    const account = fromJournal(id);
    if (account === null) break;
    ledger.set(id, account);
    writeJson(folder, id, account);
  }
  return ledger;
}

/** The account as the owner of the loop would write it; null if its files are gone. */
function fromJournal(id: string): Account | null {
  const state = stateOf(id);
  const folder = state === null ? null : folderAt(state);
  const loop = folder === null ? null : readLoopAt(folder);
  if (loop === null || loop.trouble !== null) return null;
  return accountOf(loop.state, loop.spec.family?.payer ?? null);
}

function isAccount(value: unknown): value is Account {
  return fits(ACCOUNT, value);
}

const amount = rule('a number', (value) => typeof value === 'number' && Number.isFinite(value));
const ACCOUNT = fields({
  name: string,
  payer: nullable(loopId),
  usd: amount,
  tokens: amount,
  limits: fields({
    usd: nullable(amount),
    tokens: nullable(amount),
    timeMs: nullable(amount),
    until: nullable(amount),
  } satisfies Record<keyof Account['limits'], Rule>),
} satisfies Record<keyof Account, Rule>);
