/** The scratch indexes that stay for the next look at a working tree. */
import { lstatSync, rmSync } from 'node:fs';
import { stampOf, type IndexFile } from './index-file.ts';

/** An index that was left in a scratch file: a copy of the user's index, with the files that were untracked then. */
export interface KeptIndex {
  /** The stamp of the user's index that it is a copy of. */
  readonly of: string;
  readonly stamp: string;
  /** From the workspace, in Latin-1. */
  readonly untracked: readonly string[];
}

/** Takes out the index in a scratch file, if it and the user's index are as they were; else null. */
export function takeKeptIndex(scratch: string, index: IndexFile | null): KeptIndex | null {
  const kept = keptIndexes.get(scratch);
  keptIndexes.delete(scratch);
  return kept !== undefined && kept.of === index?.stamp && kept.stamp === stampOfScratch(scratch)
    ? kept
    : null;
}

/** Keeps the index in a scratch file. */
export function keepIndex(scratch: string, kept: Omit<KeptIndex, 'stamp'>): void {
  const stamp = stampOfScratch(scratch);
  if (stamp !== null) keptIndexes.set(scratch, { ...kept, stamp });
}

export function isKept(scratch: string): boolean {
  return keptIndexes.has(scratch);
}

/** Removes an index that was kept. */
export function dropKeptIndex(scratch: string): void {
  keptIndexes.delete(scratch);
  // `rmSync` loads more of Node.js, and most often there is none.
  if (lstatSync(scratch, { throwIfNoEntry: false }) !== undefined) rmSync(scratch, { force: true });
}

/** Changes whenever git writes the index; null if there is none. */
function stampOfScratch(scratch: string): string | null {
  try {
    return stampOf(Buffer.from(scratch).toString('latin1'));
  } catch {
    return null;
  }
}

/** By scratch file. */
const keptIndexes = new Map<string, KeptIndex>();
