/**
 * Child loops: loops that were started from inside a run of another loop. A child writes a file into its parent's folder
 * before its own first event, so that the parent cannot miss it.
 */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRegular } from '../files/read-regular.ts';
import { fits } from '../loop/shape.ts';
import { loopId, path as absolutePath } from './spec-shape.ts';
import { LoopFolder } from './store.ts';
import type { Happening } from '../loop/event.ts';
import type { LoopState } from '../loop/state.ts';
import { readLoopAt } from './read-loop.ts';

/** Registers a child with its parent. */
export function announceChild(parent: LoopFolder, id: string, child: LoopFolder): void {
  if (!existsSync(parent.path)) return;
  mkdirSync(parent.children, { recursive: true });
  writeFileSync(join(parent.children, id), child.path);
}

/** Children that started or ended since the parent's journal last recorded it. */
export function childChanges({ children }: LoopFolder, state: LoopState): readonly Happening[] {
  // What a file says that is no loop of its name counts as a child that has ended.
  return namesIn(children).flatMap((child): readonly Happening[] => {
    const isKnown = state.children.includes(child);
    const folder = folderOf(join(children, child));
    const isActive = folder !== null && fits(loopId, child) && isRunning(folder, child);
    if (isKnown === isActive) return [];
    return [isActive ? { type: 'child.started', child } : { type: 'child.ended', child }];
  });
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The folder that a child has announced; null if the file is not such an announcement. */
function folderOf(file: string): LoopFolder | null {
  try {
    const folder = readRegular(file, MAX_BYTES)?.toString('utf8') ?? null;
    return folder !== null && fits(absolutePath, folder) ? new LoopFolder(folder) : null;
  } catch {
    return null;
  }
}

const MAX_BYTES = 10_000;

function isRunning(folder: LoopFolder, id: string): boolean {
  const loop = readLoopAt(folder);
  return loop !== null && loop.spec.id === id && loop.owner !== null && loop.state.outcome === null;
}
