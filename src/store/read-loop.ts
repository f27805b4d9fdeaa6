import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { LoopFolder, loopFolder, loopsFolder } from './store.ts';
import { readOwner } from './lock-owner.ts';
import { registered, unregister } from './registry.ts';
import { forget } from './kept-environment.ts';
import { readSpec, type Spec } from './spec.ts';
import { readJournal, unusableEnd } from '../journal/file.ts';
import { JournalError } from '../journal/journal.ts';
import { readSnapshot } from '../journal/snapshot.ts';
import type { LoopEvent } from '../loop/event.ts';
import { learn, NOTHING_KNOWN, type Knowledge } from '../loop/report.ts';
import { processes } from '../process/process.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { shortList } from './short-list.ts';

/** A loop as its files describe it to a process that does not own it. */
export interface LoopReading extends Knowledge {
  readonly folder: LoopFolder;
  readonly spec: Spec;
  /** The pid of the process that drives it now; null if none does. */
  readonly owner: number | null;
  /** Why its files cannot be read; the state is then the initial one. */
  readonly trouble: string | null;
  /** What is wrong with its files although they can be read; the next owner mends it. */
  readonly warning?: string;
}

/** Reads a loop by its name; throws with the names of the known loops if there is none. */
export function readLoop(workspace: string, name: string): LoopReading {
  const folder = loopFolder(workspace, name);
  const loop = readLoopAt(folder);
  if (loop !== null) return loop;
  // The remains of a loop can still be removed.
  if (!existsSync(join(folder.path, 'runs')) && !existsSync(folder.journal)) throw unknownLoop(name, folder);
  const trouble = `${folder.path} contains only the remains of a loop; remove it with: ralph rm ${name}`;
  const spec = { ...UNREADABLE_SPEC, name, workspace };
  return { folder, spec, ...NOTHING_KNOWN, owner: liveOwner(folder), trouble };
}

/** Reads a loop by its folder; throws if there is none. */
export function readLoopIn(path: string): LoopReading {
  const loop = readLoopAt(new LoopFolder(path));
  if (loop === null) throw new UserError(`no loop found in ${path}`);
  return loop;
}

export function unknownLoop(name: string, folder: LoopFolder): UserError {
  const parent = dirname(folder.path);
  const others = existsSync(parent) ? readdirSync(parent).filter((other) => other !== name) : [];
  const known =
    others.length === 0 ? 'there are none here' : `known here: ${shortList(others.toSorted(), 8)}`;
  return new UserError(`no loop named "${name}" in this workspace (${known}; ralph ls --all shows all)`);
}

export function readEvents(folder: LoopFolder): readonly LoopEvent[] {
  const events: LoopEvent[] = [];
  readJournal(folder.journal, { knownMark: null, begin() {}, take: (event) => void events.push(event) });
  return events;
}

/** Reads a loop, as far as its files can be read; null if there is none. */
export function readLoopAt(folder: LoopFolder): LoopReading | null {
  if (isMissing(folder.journal)) return null;
  let known: Knowledge = NOTHING_KNOWN;
  let trouble: string | null = null;
  let unusable = 0;
  const snapshot = readSnapshot(folder.snapshot);
  try {
    unusable = readJournal(folder.journal, {
      knownMark: snapshot?.mark ?? null,
      begin(isKnown) {
        if (snapshot !== null && isKnown) known = { state: snapshot.state, report: snapshot.report };
      },
      take(event) {
        known = learn(known, event);
      },
    });
  } catch (error) {
    known = NOTHING_KNOWN;
    trouble =
      error instanceof JournalError ? error.message : `cannot read ${folder.journal}: ${reasonOf(error)}`;
  }
  // The process that made the folder died before the loop's first event.
  if (!known.state.created && trouble === null) return null;
  let spec = UNREADABLE_SPEC;
  try {
    spec = readSpec(folder.spec);
  } catch (error) {
    trouble ??= reasonOf(error);
    spec = { ...spec, name: basename(folder.path), workspace: dirname(dirname(dirname(folder.path))) };
  }
  const owner = liveOwner(folder);
  // A line that the owner is just writing is not complete.
  const warning = unusable > 0 && owner === null ? unusableEnd(folder.journal, unusable) : null;
  return { folder, spec, ...known, owner, trouble, ...(warning === null ? {} : { warning }) };
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
  const owner = readOwner(folder.lock);
  if (owner === null) return null;
  const birth = processes.birth(owner.pid);
  return birth !== null && processes.lives(birth) && birth.startTime === owner.since ? owner.pid : null;
}

/** Whether there is nothing at a path. What this user may not look at is not missing. */
function isMissing(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOTDIR';
  }
}

function namesIn(folder: string): readonly string[] {
  return isMissing(folder) ? [] : readdirSync(folder);
}

/** The loops of a workspace, by name. */
export function readLoops(workspace: string): readonly LoopReading[] {
  const folder = loopsFolder(workspace);
  return namesIn(folder)
    .toSorted()
    .flatMap((name) => readLoopAt(loopFolder(workspace, name)) ?? []);
}

/** The loops of all workspaces of this user; forgets those whose folder is gone. */
export function readAllLoops(): readonly LoopReading[] {
  return registered()
    .toSorted((a, b) => a.workspace.localeCompare(b.workspace) || a.name.localeCompare(b.name))
    .flatMap(({ id, name, workspace, folder }) => {
      const loop = readLoopAt(new LoopFolder(folder));
      if (loop !== null && loop.spec.id === id) return [loop];
      // Its spec may be what cannot be read.
      if (loop !== null && loop.trouble !== null)
        return [{ ...loop, spec: { ...loop.spec, name, workspace } }];
      // A folder without a journal may belong to a loop that is just being created.
      if (loop === null && !isMissing(folder)) return [];
      unregister(id);
      forget(id);
      return [];
    });
}
