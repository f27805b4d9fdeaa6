import { existsSync, lstatSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isEnlisted } from './background.ts';
import { isEndNoted, takeBackEnd } from './end-note.ts';
import { LoopFolder, loopsFolder, type LoopKey } from './home.ts';
import { livingOwner } from './lock-owner.ts';
import { journalProblem, putBack } from './journal-problem.ts';
import { registered, registeredAs, registeredIn } from './registry.ts';
import { describeStranger, strangersIn } from './strangers.ts';
import { readSpec, type Spec } from './spec.ts';
import { readJournal, unusableEnd, type JournalLength } from '../journal/file.ts';
import { lastEvent } from '../journal/last-event.ts';
import { JOURNAL_START, type EventMark } from '../journal/pages.ts';
import { readSnapshot } from '../journal/snapshot.ts';
import { decide } from '../loop/decide.ts';
import type { LoopEvent } from '../loop/event.ts';
import { learn, NOTHING_KNOWN, type Knowledge } from '../loop/report.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { shellQuote } from '../loop/shell-quote.ts';
import { shortList } from '../loop/counted.ts';
import { readAsked } from './unstarted.ts';

/** A loop as its files describe it to a process that does not own it. */
export interface LoopReading extends Knowledge {
  readonly folder: LoopFolder;
  readonly spec: Spec;
  /** The pid of the process that drives it now; null if none does. */
  readonly owner: number | null;
  /** How much of its journal was read. */
  readonly read: EventMark;
  /** Why its files cannot be read; the state is then the initial one. */
  readonly trouble: string | null;
  /** What is wrong with its files although they can be read; the next owner mends it. */
  readonly warning?: string;
  /** The command that comes next if its files cannot be read, if there is one. */
  readonly remedy?: string;
}

/** Reads a loop by its name; throws with the names of the known loops if there is none. */
export function readLoop(workspace: string, name: string): LoopReading {
  const folder = requireFolder(workspace, name);
  const loop = readLoopAt(folder);
  if (loop !== null) return loop;
  if (isUnstarted(folder))
    throw new UserError(
      `loop ${name} has not started: the process that was creating it died; start it with: ralph resume ${name}`,
    );
  // The remains of a loop can still be removed.
  if (!existsSync(join(folder.path, 'runs')) && !existsSync(folder.journal))
    throw unknownLoop(workspace, name);
  const remedy = `ralph rm ${name}`;
  const trouble = `${folder.path} contains only the remains of a loop; remove it with: ${remedy}`;
  const spec = { ...UNREADABLE_SPEC, id: folder.id, name, workspace };
  return { folder, spec, ...NOTHING_KNOWN, owner: liveOwner(folder), read: JOURNAL_START, trouble, remedy };
}

/** Whether the process that was creating a loop died before the loop's first event. */
export function isUnstarted(folder: LoopFolder): boolean {
  return readAsked(folder) !== null && liveOwner(folder) === null && readLoopAt(folder) === null;
}

/** Reads a loop by the folder of its state; throws if there is none. */
export function readLoopIn(path: string): LoopReading {
  const folder = folderAt(path);
  const loop = folder === null ? null : readLoopAt(folder);
  if (loop === null) throw new UserError(`no loop found in ${path}`);
  return loop;
}

/** Reads a loop by its id; null if there is none. */
export function readLoopOf(id: string): LoopReading | null {
  const folder = folderAt(join(loopsFolder(), id));
  return folder === null ? null : readLoopAt(folder);
}

/** The loop whose state is in this folder; null if there is none. */
export function folderAt(path: string): LoopFolder | null {
  const spec = specIn(path);
  return spec === null ? null : new LoopFolder(spec, path);
}

/** The spec in the state folder of a loop; null if it cannot be read. */
export function specIn(path: string): Spec | null {
  try {
    return readSpec(join(path, 'spec.json'));
  } catch {
    return null;
  }
}

/** The loop that has a name in a workspace; null if there is none. */
export function findFolder(workspace: string, name: string): LoopFolder | null {
  const key = registeredAs(workspace, name);
  return key === null ? null : new LoopFolder(key);
}

/** Like `findFolder`; throws with the names of the known loops if there is none. */
export function requireFolder(workspace: string, name: string): LoopFolder {
  const folder = findFolder(workspace, name);
  if (folder === null) throw unknownLoop(workspace, name);
  return folder;
}

export function unknownLoop(workspace: string, name: string): UserError {
  const others = registeredIn(workspace).flatMap((other) => (other.name === name ? [] : [other.name]));
  const known = others.length === 0 ? 'there are none here' : `known here: ${shortList(others, 8)}`;
  const stranger = strangersIn(workspace).find((one) => one.name === name);
  const more =
    stranger === undefined
      ? (inOtherWorkspace(workspace, name) ?? ` (${known}; ralph ls --all shows all)`)
      : `: ${describeStranger(stranger)}`;
  return new UserError(`no loop named "${name}" in this workspace${more}`);
}

/** Where there are loops of this name; null if there are none. */
function inOtherWorkspace(here: string, name: string): string | null {
  const folders = registered()
    .filter((other) => other.name === name && other.workspace !== here && existsSync(other.workspace))
    .map(({ workspace }) => workspace);
  const [first] = folders;
  if (first === undefined) return null;
  return folders.length === 1
    ? `; there is one in ${first} (go there with: cd ${shellQuote(first)})`
    : `; there are ${folders.length} in other workspaces: ${shortList(folders, 5)} (change to one of these folders first)`;
}

export function readEvents(folder: LoopFolder): readonly LoopEvent[] {
  const events: LoopEvent[] = [];
  eachEvent(folder, (event) => void events.push(event));
  return events;
}

/** Reads a journal in memory that does not grow with it. */
export function eachEvent(folder: LoopFolder, take: (event: LoopEvent) => void): void {
  readJournal(folder.journal, { knownMark: null, begin() {}, take });
}

/** Reads a loop, as far as its files can be read; null if there is none. `isLocked`: by this process, which does not drive it. */
export function readLoopAt(
  folder: LoopFolder,
  { isLocked = false }: { readonly isLocked?: boolean } = {},
): LoopReading | null {
  if (isMissing(folder.journal) && putBack(folder.journal) === null) return null;
  let known: Knowledge = NOTHING_KNOWN;
  let failure: unknown = null;
  let length: JournalLength = { ...JOURNAL_START, unusable: 0 };
  const snapshot = readSnapshot(folder.snapshot);
  try {
    length = readJournal(folder.journal, {
      knownMark: snapshot?.mark ?? null,
      begin(isKnown) {
        if (snapshot !== null && isKnown) known = { state: snapshot.state, report: snapshot.report };
      },
      take(event) {
        known = learn(known, event);
      },
    });
    // Values that no version of Ralph writes may only matter when the next step is decided.
    decide(known.state);
  } catch (error) {
    failure = error;
  }
  const owner = isLocked ? null : liveOwner(folder);
  const problem = journalProblem(folder, failure, owner);
  if (problem !== null) known = NOTHING_KNOWN;
  let { message: trouble, remedy } = problem ?? { message: null, remedy: null };
  let warning: string | null = null;
  // A line that the owner is just writing is not complete.
  if (length.unusable > 0 && owner === null)
    warning = `${unusableEnd(folder.journal, length.unusable)}; they are cut off and kept aside on resume`;
  // An owner that is alive is about to note the end.
  if (known.state.outcome?.type === 'done' && owner === null && !isEndNoted(folder, length.bytes)) {
    ({ taken: known, warning } = takeBackEnd(known));
  }
  // The process that made the folder died before the loop's first event.
  if (!known.state.created && trouble === null) return null;
  let spec = UNREADABLE_SPEC;
  try {
    spec = readSpec(folder.spec);
    // Processes and refs are found by the id, so that of another loop would lead to what is not ours.
    if (spec.id !== folder.id)
      throw new UserError(`cannot use ${folder.spec}: it is of another loop (${spec.id})`);
  } catch (error) {
    trouble ??= reasonOf(error);
    remedy ??= `ralph rm ${folder.name}`;
    spec = { ...UNREADABLE_SPEC, id: folder.id, name: folder.name, workspace: folder.workspace };
  }
  return {
    folder,
    spec,
    ...known,
    owner,
    read: { events: length.events, bytes: length.bytes },
    trouble,
    ...(warning === null ? {} : { warning }),
    ...(remedy === null ? {} : { remedy }),
  };
}

/** Whether there is nothing at a path. What this user may not look at is not missing. */
function isMissing(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

const UNREADABLE_SPEC: Spec = {
  version: 1,
  id: 'unreadable',
  name: '',
  workspace: '',
  created: '',
  agent: { kind: 'custom', argv: [] },
  prompt: { text: '' },
  parent: null,
};

/** The pid of the process that owns a loop now; null if none does. */
export function liveOwner(folder: LoopFolder): number | null {
  return livingOwner(folder.lock);
}

/** Whether a process drives a loop now, or the next daemon will. */
export function isDriven(folder: LoopFolder): boolean {
  // The owner makes a lock file again that was removed.
  return !existsSync(folder.lock) || liveOwner(folder) !== null || isEnlisted(folder.id);
}

/** The loops of a workspace, by name. */
export function readLoops(workspace: string): readonly LoopReading[] {
  return readAll(registeredIn(workspace));
}

/** Those of them that have not ended. Reads only the end of the others, of which there may be many. */
export function readUnfinishedLoops(workspace: string): readonly LoopReading[] {
  return readAll(registeredIn(workspace).filter(isOpen)).filter(({ state }) => state.outcome === null);
}

function isOpen(key: LoopKey): boolean {
  const folder = new LoopFolder(key);
  const last = lastEvent(folder.journal);
  return last?.type !== 'loop.ended' || isUnconfirmed(folder, last);
}

/** Whether this last event says that the loop is done, and no owner has confirmed it. */
function isUnconfirmed(folder: LoopFolder, last: LoopEvent): boolean {
  if (last.type !== 'loop.ended' || last.outcome.type !== 'done') return false;
  return !isEndNoted(folder, statSync(folder.journal, { throwIfNoEntry: false })?.size ?? 0);
}

/** Those of them that a process owns now. */
export function readOwnedLoops(workspace: string): readonly LoopReading[] {
  return readAll(registeredIn(workspace).filter(isOwned)).filter(({ owner }) => owner !== null);
}

function isOwned(key: LoopKey): boolean {
  return liveOwner(new LoopFolder(key)) !== null;
}

/** The loops of all workspaces of this user. */
export function readAllLoops(): readonly LoopReading[] {
  return readAll(registered());
}

function readAll(keys: readonly LoopKey[]): readonly LoopReading[] {
  return keys.flatMap((key) => readLoopAt(new LoopFolder(key)) ?? []);
}
