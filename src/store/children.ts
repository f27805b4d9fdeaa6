/**
 * Child loops: loops that were started from inside a run of another loop. A child writes a file into its parent's folder
 * before its own first event, so that the parent cannot miss it.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn, PRIVATE_FILE, PRIVATE_FOLDER, textOf } from '../files/files.ts';
import { makeFolders } from '../files/make-folders.ts';
import { replaceFile } from '../files/replace-file.ts';
import type { LoopFolder } from './store.ts';
import type { Happening } from '../loop/event.ts';
import type { LoopState } from '../loop/state.ts';
import { folderAt, readLoopAt } from './read-loop.ts';

const MAX_PATH_BYTES = 64 * 1024;

/** Registers a child with its parent, whose state is in the folder `parent`. */
export function announceChild(parent: string, child: LoopFolder): void {
  if (!existsSync(parent)) return;
  const children = join(parent, 'children');
  makeFolders(children, PRIVATE_FOLDER);
  replaceFile(join(children, child.id), child.path, { mode: PRIVATE_FILE });
}

/** Children that started or ended since the parent's journal last recorded it. */
export function childChanges({ children }: LoopFolder, state: LoopState): readonly Happening[] {
  // A file that names no loop of its own id counts as a child that has ended.
  return namesIn(children).flatMap((child): readonly Happening[] => {
    const isKnown = state.children.includes(child);
    const folder = folderAt(textOf(join(children, child), MAX_PATH_BYTES) ?? '');
    const isActive = folder !== null && folder.id === child && isRunning(folder);
    if (isKnown === isActive) return [];
    return [isActive ? { type: 'child.started', child } : { type: 'child.ended', child }];
  });
}

function isRunning(folder: LoopFolder): boolean {
  const loop = readLoopAt(folder);
  return loop !== null && loop.owner !== null && loop.state.outcome === null;
}
