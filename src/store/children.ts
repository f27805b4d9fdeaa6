/**
 * Loops that were started from inside a run of this one. Each says so in a file in this loop's folder, before its own
 * first event, so that the parent cannot miss it.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LoopFolder } from './store.ts';
import type { Happening } from '../loop/event.ts';
import type { LoopState } from '../loop/state.ts';
import { readLoopAt } from './read-loop.ts';

/** Tells a parent that it has a child. */
export function announce(parent: LoopFolder, id: string, child: LoopFolder): void {
  if (!existsSync(parent.path)) return;
  mkdirSync(parent.children, { recursive: true });
  writeFileSync(join(parent.children, id), child.path);
}

/** The children that have come or gone since the journal last heard of them. */
export function family({ children }: LoopFolder, state: LoopState): readonly Happening[] {
  if (!existsSync(children)) return [];
  return readdirSync(children).flatMap((child): readonly Happening[] => {
    const isKnown = state.children.includes(child);
    const isAtWork = works(new LoopFolder(readFileSync(join(children, child), 'utf8')));
    if (isKnown === isAtWork) return [];
    return [isAtWork ? { type: 'child.started', child } : { type: 'child.ended', child }];
  });
}

/** A loop that has neither ended nor lost its owner. */
function works(folder: LoopFolder): boolean {
  const loop = readLoopAt(folder);
  return loop !== null && loop.owner !== null && loop.state.outcome === null;
}
