/**
 * What is left of loops whose creator died before their first event: a kept environment with its secrets, records in git,
 * a folder and a name. Without a journal there is no loop that a command could end or remove. And the environment of a loop
 * whose owner died right after its end.
 *
 * 1. The environment is kept before the spec and the records are written, so every such loop has one.
 * 2. A loop that is being created has a live owner: its creator takes the lock before it keeps the environment. The lock is
 *    taken here too, so that nothing is removed that another process has just taken over.
 */
import { existsSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { foundAt, namesIn, textOf } from '../files/files.ts';
import { lastEvent } from '../journal/last-event.ts';
import { forgetRecords } from '../workspace/start.ts';
import { isEndNoted } from '../home/end-note.ts';
import { forgetEnvironment } from '../home/saved-environment.ts';
import { isUnsent } from '../home/notice-secrets.ts';
import { takeLock } from '../home/lock.ts';
import { thisProcess } from '../home/lock-owner.ts';
import { folderAt, readLoopAt } from '../home/read-loop.ts';
import { registered, unreserve } from '../home/registry.ts';
import { jsonFilesIn, removeQuietly, stateFolder } from '../home/state-folder.ts';
import { LoopFolder, type LoopKey } from '../home/home.ts';

/** Forgets loops that died while they were created; returns their ids. */
export async function forgetDeadCreations(state: string = stateFolder()): Promise<readonly string[]> {
  const folder = join(state, 'kept');
  for (const file of namesIn(folder).filter((name) => name.startsWith('.'))) removeIfOld(join(folder, file));
  const ids = jsonFilesIn(folder).map((file) => file.replace(/\.json$/, ''));
  const suspects = ids.filter((id) => mayBeDead(id, state) || hasEnded(join(state, 'loops', id)));
  if (suspects.length === 0) return [];
  const names = new Map(registered(state).map((key) => [key.id, key]));
  const dead: string[] = [];
  for (const id of suspects) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- there is rarely more than one
      if (await forgetIfDead(id, names.get(id) ?? null, state)) dead.push(id);
    } catch {
      // Files of one loop that cannot be used, such as a lock that is a link, must not keep another from being created.
    }
  }
  return dead;
}

/** A loop that is done without a note about it needs its environment: its next owner judges the claim again. */
function hasEnded(path: string): boolean {
  const folder = new LoopFolder({ id: basename(path), name: '', workspace: '' }, path);
  // Its notices need the environment, too.
  if (isUnsent(folder.id)) return false;
  const last = lastEvent(folder.journal);
  if (last?.type !== 'loop.ended') return false;
  return last.outcome.type !== 'done' || isEndNoted(folder, foundAt(folder.journal)?.size ?? 0);
}

/** Looks at one file, and takes no lock: this is asked for every unfinished loop whenever one is created. */
function mayBeDead(id: string, state: string): boolean {
  const journal = join(state, 'loops', id, 'journal.jsonl');
  const { size = 0 } = foundAt(journal) ?? {};
  if (size > MAX_EMPTY_JOURNAL_BYTES) return false;
  // After the header and the first event.
  return (textOf(journal) ?? '').split('\n').length <= 2;
}

/** A longer journal has a first event. */
const MAX_EMPTY_JOURNAL_BYTES = 4096;

async function forgetIfDead(id: string, name: LoopKey | null, state: string): Promise<boolean> {
  const path = join(state, 'loops', id);
  if (!existsSync(path)) return forgetIfAbandoned(id, state);
  const key = name ?? folderAt(path);
  const folder = new LoopFolder(key ?? { id, name: '', workspace: '' }, path);
  const lock = await takeLock(folder.lock, thisProcess());
  if (!lock.taken) return false;
  try {
    if (hasEnded(path)) forgetEnvironment(id, state);
    if (readLoopAt(folder) !== null || existsSync(join(path, 'runs'))) return false;
    // Without a name and a spec it has no records either.
    if (key !== null && existsSync(key.workspace)) await forgetRecords({ id }, key.workspace);
    forgetEnvironment(id, state);
    rmSync(path, { recursive: true, force: true });
    if (name !== null) unreserve(name, state);
    return true;
  } finally {
    lock.release();
  }
}

function forgetIfAbandoned(id: string, state: string): boolean {
  return removeIfOld(join(state, 'kept', `${id}.json`));
}

/** Also a file that its writer, which was killed, has not renamed. */
function removeIfOld(path: string): boolean {
  const found = foundAt(path);
  const isOld = found !== null && Date.now() - found.mtimeMs > ABANDONED_MS;
  if (isOld) removeQuietly(path);
  return isOld;
}

const ABANDONED_MS = 3_600_000;
