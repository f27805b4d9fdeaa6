/**
 * Child loops: loops that were started from inside a run of another loop. Each has a file in its parent's state, named by its id.
 *
 * 1. The file is written before the child's first event (`child-limits.ts`), so that the parent cannot miss it.
 * 2. It is removed once the parent's journal has the child's end. A child that is resumed gets it again.
 * 3. A child is active while a process drives it, the next daemon will, or it is paused. Any other one without an outcome is lost.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn, PRIVATE_FILE, PRIVATE_FOLDER, makeFolders } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import type { ChildLoss, Happening } from '../loop/event.ts';
import { cut } from '../loop/excerpt.ts';
import type { Outcome } from '../loop/outcome.ts';
import { fits } from '../loop/shape.ts';
import type { LoopState } from '../loop/state.ts';
import { isEnlisted } from './background.ts';
import { loopOf } from './enclosing-runs.ts';
import { liveOwner, readLoopAt } from './read-loop.ts';
import { isLoopId } from '../loop/child-report.ts';
import { loopIdOf } from './run-environment.ts';
import { loopId } from './spec.ts';
import { removeQuietly } from './state-folder.ts';
import { archiveFolder, LoopFolder, loopsFolder } from './home.ts';

/** Registers a child with its parent, whose state is in the folder `parent`. */
export function announceChild(parent: string, child: LoopFolder): void {
  if (!existsSync(parent)) return;
  const children = join(parent, 'children');
  makeFolders(children, PRIVATE_FOLDER);
  replaceFile(join(children, child.id), child.path, { mode: PRIVATE_FILE });
}

/** Takes a registration back. */
export function withdrawChild(parent: string, { id }: Pick<LoopFolder, 'id'>): void {
  removeQuietly(join(parent, 'children', id));
}

/** The ids of the registered children. */
export function registeredChildren({ children }: Pick<LoopFolder, 'children'>): readonly string[] {
  return namesIn(children).filter((name) => fits(loopId, name));
}

/** Children that started or ended since the parent's journal last recorded it. */
export function childChanges(parent: LoopFolder, state: LoopState): readonly Happening[] {
  // Runs that other programs have recorded are no loops (`recorded-children.ts`).
  const ids = new Set([...state.children.filter(isLoopId), ...registeredChildren(parent)]);
  return [...ids].flatMap((child): readonly Happening[] => {
    const status = statusOfChild(child);
    const isKnown = state.children.includes(child);
    switch (status.is) {
      case 'new':
        return [];
      case 'active':
        return isKnown ? [] : started(child, parent);
      case 'ended':
      case 'lost': {
        const ended = endedEvent(child, status);
        if (isKnown) return [ended];
        // It started and ended between two looks.
        const beginning = isForgotten(child, status, state) ? [] : started(child, parent);
        return beginning.length === 0 ? [] : beginning.concat(ended);
      }
    }
  });
}

/** Removes the files of children whose end is recorded, and of those whose creator died before their first event. */
export function forgetEndedChildren(parent: LoopFolder, state: LoopState): void {
  for (const id of registeredChildren(parent)) {
    if (state.children.includes(id)) continue;
    const status = statusOfChild(id);
    if (status.is === 'active' || status.is === 'new') continue;
    if (isForgotten(id, status, state) || started(id, parent).length === 0)
      withdrawChild(parent.path, { id });
  }
}

/** Whether the end of a child is recorded, or there is nothing left to record. */
function isForgotten(child: string, status: ChildStatus, { endedChildren }: LoopState): boolean {
  return endedChildren.includes(child) || (status.is === 'lost' && status.why === 'removed');
}

export type ChildStatus =
  /** It is being created and has no event yet. */
  | { readonly is: 'new' }
  | { readonly is: 'active' }
  | { readonly is: 'ended'; readonly outcome: Outcome }
  | { readonly is: 'lost'; readonly why: ChildLoss };

/** The status of a child. Its journal is read only if no process drives it. */
export function statusOfChild(id: string): ChildStatus {
  const folder = folderOf(loopsFolder(), id);
  if (!existsSync(folder.path)) return archivedStatus(id);
  if (isOwned(folder)) return { is: existsSync(folder.journal) ? 'active' : 'new' };
  const loop = readLoopAt(folder);
  // Its creator died before its first event.
  if (loop === null) return { is: 'lost', why: 'removed' };
  if (loop.trouble !== null) return { is: 'lost', why: 'crashed' };
  if (loop.state.outcome !== null) return { is: 'ended', outcome: loop.state.outcome };
  // Another process may have taken it over while it was read.
  return loop.state.control.paused || isOwned(folder) ? { is: 'active' } : { is: 'lost', why: 'crashed' };
}

/** A loop that was replaced by another one of its name. */
function archivedStatus(id: string): ChildStatus {
  const outcome = readLoopAt(folderOf(archiveFolder(), id))?.state.outcome ?? null;
  return outcome === null ? { is: 'lost', why: 'removed' } : { is: 'ended', outcome };
}

/** Only the paths of its state are used. */
function folderOf(loops: string, id: string): LoopFolder {
  return new LoopFolder({ id, name: id, workspace: '/' }, join(loops, id));
}

function isOwned(folder: LoopFolder): boolean {
  return liveOwner(folder) !== null || isEnlisted(folder.id);
}

/** Nothing if it is not a child of this loop. */
function started(child: string, parent: LoopFolder): readonly Happening[] {
  const marker = loopOf({ loop: child })?.parent?.run;
  if (marker === undefined || loopIdOf(marker) !== parent.id) return [];
  return [{ type: 'child.started', child, run: marker.slice(parent.id.length + 1) }];
}

function endedEvent(child: string, status: Extract<ChildStatus, { is: 'ended' | 'lost' }>): Happening {
  return status.is === 'ended'
    ? { type: 'child.ended', child, outcome: brief(status.outcome) }
    : { type: 'child.ended', child, outcome: null, lost: status.why };
}

/** The message of an outcome can be an agent's whole output. */
function brief(outcome: Outcome): Outcome {
  return 'message' in outcome ? { ...outcome, message: cut(outcome.message, MAX_MESSAGE) } : outcome;
}

const MAX_MESSAGE = 300;
