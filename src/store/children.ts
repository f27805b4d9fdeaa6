/**
 * Child loops: loops that were started from inside a run of another loop. A child writes a file into its parent's folder
 * before its own first event, so that the parent cannot miss it.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
  if (!existsSync(children)) return [];
  return readdirSync(children).flatMap((child): readonly Happening[] => {
    const isKnown = state.children.includes(child);
    const isActive = isRunning(new LoopFolder(readFileSync(join(children, child), 'utf8')));
    if (isKnown === isActive) return [];
    return [isActive ? { type: 'child.started', child } : { type: 'child.ended', child }];
  });
}

function isRunning(folder: LoopFolder): boolean {
  const loop = readLoopAt(folder);
  return loop !== null && loop.owner !== null && loop.state.outcome === null;
}
