/**
 * The files of a ledger: one per loop of the family (`family.ts`).
 *
 * 1. What has not changed is not read again: files are only replaced, so that each change has a new stamp.
 * 2. An entry that is damaged, or that was there before, is made from the journal of its loop, else what this process has read
 *    before counts. A ledger that cannot be read is an error: spending that is not counted would lift a limit.
 */
import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, isTaken, namesIn, UnusableFile, readJsonFile } from '../files/files.ts';
import type { Unmetered } from '../loop/charge.ts';
import { entryOf, type Ledger, type LedgerEntry } from '../loop/family.ts';
import { fields, fits, nullable, rule, string, whole, type Rule } from '../loop/shape.ts';
import { UserError } from '../user-error.ts';
import { isLoopId, loopName } from '../loop/child-report.ts';
import { folderAt, readLoopAt, specIn } from './read-loop.ts';
import { loopId } from './spec.ts';
import { removeQuietly, writeJson } from './state-folder.ts';
import { archiveFolder, loopsFolder } from './home.ts';

/** The entries of all loops. Throws if one of them cannot be counted. */
export function readLedger(folder: string): Ledger {
  const known = read.get(folder);
  const stamp = stampOf(folder);
  if (known !== undefined && stamp !== null && known.stamp === stamp) return known.ledger;
  // The owner of a loop whose entry was removed makes it again.
  const entries = new Map(known?.entries);
  for (const id of idsIn(folder)) {
    const before = known?.entries.get(id);
    const now = stampOf(entryFile(folder, id));
    if (before !== undefined && now !== null && before.stamp === now) continue;
    entries.set(id, { stamp: now, entry: countable(folder, id, before?.entry ?? null) });
  }
  const ledger = new Map([...entries].map(([id, { entry }]) => [id, entry] as const));
  read.delete(folder);
  read.set(folder, { stamp, entries, ledger });
  const [oldest] = read.keys();
  if (oldest !== undefined && read.size > MOST_LEDGERS) read.delete(oldest);
  return ledger;
}

/** What this process knows of each ledger; the one that was read last is the last one. */
const read = new Map<string, Known>();
const MOST_LEDGERS = 100;

interface Known {
  readonly stamp: string | null;
  readonly entries: ReadonlyMap<string, Entry>;
  readonly ledger: Ledger;
}

interface Entry {
  readonly stamp: string | null;
  readonly entry: LedgerEntry;
}

/** Identifies the content of a file or folder; null if it may still change without another stamp, or if there is none. */
function stampOf(path: string): string | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || Math.abs(Date.now() - found.ctimeMs) < COARSE_MS) return null;
  return [found.ino, found.size, found.mtimeMs, found.ctimeMs].join(' ');
}

/** File systems have coarse clocks. */
const COARSE_MS = 100;

/** The ids of the loops that have an entry. Unlike `namesIn`, it does not take what it cannot read for empty. */
function idsIn(folder: string): readonly string[] {
  try {
    if (!lstatSync(folder).isDirectory()) throw new UnusableFile(folder, 'not a folder');
    const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
    return names.map((name) => name.slice(0, -'.json'.length)).filter(isLoopId);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** The entry as its file has it, as the journal of its loop says it, or as it was before. */
function countable(folder: string, id: string, before: LedgerEntry | null): LedgerEntry {
  const entry = readEntry(folder, id) ?? fromJournal(id) ?? before;
  if (entry !== null) return entry;
  throw new UserError(
    `cannot count the budget of the family: ${entryFile(folder, id)} is damaged and the loop "${loopName(id)}" was removed; remove this file to go on without what that loop has spent`,
  );
}

/** What a file says; null if it is missing or damaged. */
export function readEntry(folder: string, id: string): LedgerEntry | null {
  const value = readJsonFile(entryFile(folder, id));
  return isEntry(value) ? value : null;
}

export function writeEntry(folder: string, id: string, entry: LedgerEntry): void {
  writeJson(folder, id, entry);
}

/** Removes the entry of a loop that could not be created. */
export function forgetEntry(folder: string, id: string): void {
  removeQuietly(entryFile(folder, id));
}

function entryFile(folder: string, id: string): string {
  return join(folder, `${id}.json`);
}

/** Makes the missing entries of a ledger that was removed. */
export function restoreLedger(folder: string, root: string): void {
  const loops = [loopsFolder(), archiveFolder()].flatMap((path) => namesIn(path).map((id) => join(path, id)));
  for (const spec of loops.flatMap((path) => specIn(path) ?? [])) {
    if (spec.id !== root && spec.family?.root !== root) continue;
    const entry = isTaken(entryFile(folder, spec.id)) ? null : fromJournal(spec.id);
    if (entry !== null) writeEntry(folder, spec.id, entry);
  }
}

/** The entry as the owner of the loop would write it; null if its files are gone. */
export function fromJournal(id: string): LedgerEntry | null {
  const state = stateOf(id);
  const folder = state === null ? null : folderAt(state);
  const loop = folder === null ? null : readLoopAt(folder);
  if (loop === null || loop.trouble !== null) return null;
  return entryOf(loop.state, loop.spec.family?.payer ?? null);
}

/** The state of a loop, also of one that was replaced by another of its name; null if there is none. */
export function stateOf(id: string): string | null {
  if (id === '') return null;
  return (
    [loopsFolder(), archiveFolder()].map((loops) => join(loops, id)).find((path) => existsSync(path)) ?? null
  );
}

function isEntry(value: unknown): value is LedgerEntry {
  return fits(ENTRY, value);
}

const moment = rule('a number', (value) => typeof value === 'number' && Number.isFinite(value));
const amount = rule(
  'a number from 0',
  (value) => typeof value === 'number' && value >= 0 && Number.isFinite(value),
);
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
    until: nullable(moment),
  } satisfies Record<keyof LedgerEntry['limits'], Rule>),
} satisfies Record<keyof LedgerEntry, Rule>);
