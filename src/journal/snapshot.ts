/**
 * A short cut through a long journal: what its first events fold to. It is only believed while those events are, byte
 * for byte, the ones that it was made from, so that damage is found as without it; and it can be removed at any time.
 */
import { readFileSync } from 'node:fs';
import { NOTHING_KNOWN, type Knowledge } from '../loop/report.ts';

export interface Snapshot extends Knowledge {
  readonly mark: JournalMark;
  /** How much of `iterations.log` and how many entries of `progress.md` belong to these events. */
  readonly logBytes: number;
  readonly entries: number;
}

/** A place in a journal: so many events, in so many bytes, with this checksum of all of them. */
export interface JournalMark {
  readonly events: number;
  readonly bytes: number;
  readonly sum: number;
}

/** Raised when the fold of the same events gives another state than before. */
const FOLD_VERSION = 2;

/** The names of everything in a state: one that has other parts was made by another version. */
const { state, report } = NOTHING_KNOWN;
const SHAPE = `${FOLD_VERSION} ${[state, state.turn, report].map((part) => Object.keys(part).join()).join(' ')}`;

export function readSnapshot(path: string): Snapshot | null {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof value !== 'object' || value === null || !('shape' in value) || value.shape !== SHAPE)
      return null;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by `snapshotText` of the same version
    return value as unknown as Snapshot;
  } catch {
    return null;
  }
}

/** The content of its file. */
export function snapshotText(snapshot: Snapshot): string {
  return `${JSON.stringify({ shape: SHAPE, ...snapshot })}\n`;
}
