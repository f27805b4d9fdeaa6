/**
 * A snapshot: the state after the first events of a long journal, so that opening the journal stays fast.
 *
 * 1. It is used only if those events are, byte for byte, the ones that it was made from. So damage is still found.
 * 2. It can be removed at any time.
 * 3. Its checksum covers all of it, as that of a journal's line does: a snapshot that is damaged is not used.
 */
import { readRegular } from '../files/files.ts';
import { NOTHING_KNOWN, type Knowledge } from '../loop/report.ts';
import { fields, fits, whole } from '../loop/shape.ts';
import { crc32 } from './crc32.ts';

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
    const content = readRegular(path, MAX_BYTES);
    const end = content?.indexOf(10) ?? -1;
    if (content === null || end < 0) return null;
    const text = content.subarray(end + 1);
    if (content.toString('latin1', 0, end) !== headOf(text)) return null;
    const value: unknown = JSON.parse(text.toString('utf8'));
    if (!fits(WITH_MARK, value)) return null;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its checksum proves that `snapshotText` of the same version made it
    return value as Snapshot;
  } catch {
    return null;
  }
}

export function snapshotText(snapshot: Snapshot): string {
  const text = `${JSON.stringify(snapshot)}\n`;
  return `${headOf(Buffer.from(text))}\n${text}`;
}

function headOf(text: Buffer): string {
  return JSON.stringify({ shape: SHAPE, sum: crc32(text) });
}

const WITH_MARK = fields({
  mark: fields({ events: whole(0), bytes: whole(0), sum: whole(0) }),
  state: fields({}),
  report: fields({}),
  logBytes: whole(0),
  entries: whole(0),
});

/** The state does not grow with the journal, but long texts of a person are in it until they are delivered. */
const MAX_BYTES = 256 * 2 ** 20;
