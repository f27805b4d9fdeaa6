/**
 * A snapshot: the state after the first events of a long journal, so that opening the journal stays fast.
 *
 * 1. It is used only if those events are, byte for byte, the ones that it was made from. So damage is still found.
 * 2. It can be removed at any time.
 */
import { textOf } from '../files/files.ts';
import { NOTHING_KNOWN, type Knowledge } from '../loop/report.ts';

export interface Snapshot extends Knowledge {
  readonly mark: JournalMark;
  /** The bytes of `iterations.log` and the entries of `progress.md` that these events produced. */
  readonly logBytes: number;
  readonly entries: number;
}

/** A position in a journal: the number of events before it, their bytes, and the checksum of these bytes. */
export interface JournalMark {
  readonly events: number;
  readonly bytes: number;
  readonly sum: number;
}

/** Increased whenever the same events fold to another state than before. */
const FOLD_VERSION = 4;

/** The keys of the state and the report: a snapshot with other keys was made by another version. */
const { state, report } = NOTHING_KNOWN;
const SHAPE = `${FOLD_VERSION} ${[state, state.turn, report].map((part) => Object.keys(part).join()).join(' ')}`;

export function readSnapshot(path: string): Snapshot | null {
  try {
    const value: unknown = JSON.parse(textOf(path) ?? 'null');
    if (typeof value !== 'object' || value === null || !('shape' in value) || value.shape !== SHAPE)
      return null;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by `snapshotText` of the same version
    return value as unknown as Snapshot;
  } catch {
    return null;
  }
}

export function snapshotText(snapshot: Snapshot): string {
  return `${JSON.stringify({ shape: SHAPE, ...snapshot })}\n`;
}
