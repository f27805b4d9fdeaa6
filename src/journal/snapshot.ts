/**
 * A snapshot: the state after the first events of a journal, as a rule after all of them, so that opening the journal stays fast.
 *
 * 1. It is used only if the file of the journal has not changed since, or if those events are, byte for byte, the ones that it was made
 *    from. So damage is still found.
 * 2. It can be removed at any time.
 * 3. It has three lines: the version of its shape, the checksum of its text, and its text. One that is damaged is not used.
 */
import { crc32 } from 'node:zlib';
import { readRegular } from '../files/files.ts';
import { NOTHING_KNOWN, type Knowledge } from '../loop/report.ts';
import { fields, fits, optional, shortText, whole } from '../loop/shape.ts';

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
  /** The inode, the size and the times of the journal's file, if this is its end and was synced. */
  readonly stamp?: string;
}

/** Increased whenever the same events fold to another state than before. */
const FOLD_VERSION = 6;

/** The keys of the state and the report: a snapshot with other keys was made by another version. */
const { state, report } = NOTHING_KNOWN;
const SHAPE = `${FOLD_VERSION} ${[state, state.turn, report].map((part) => Object.keys(part).join()).join(' ')}`;

export function readSnapshot(path: string): Snapshot | null {
  try {
    const [shape, sum, text = ''] = readRegular(path, MAX_BYTES)?.toString('utf8').split('\n') ?? [];
    if (shape !== SHAPE || sum !== String(crc32(text))) return null;
    const value: unknown = JSON.parse(text);
    if (!fits(WITH_MARK, value)) return null;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `snapshotText` of the same version made it, and it is not damaged
    return value as Snapshot;
  } catch {
    return null;
  }
}

export function snapshotText(snapshot: Snapshot): string {
  const text = JSON.stringify(snapshot);
  return `${SHAPE}\n${crc32(text)}\n${text}\n`;
}

const WITH_MARK = fields({
  mark: fields({ events: whole(0), bytes: whole(0), sum: whole(0), stamp: optional(shortText(200)) }),
  state: fields({}),
  report: fields({}),
  logBytes: whole(0),
  entries: whole(0),
});

/** The state does not grow with the journal, but long texts of a person are in it until they are delivered. */
const MAX_BYTES = 256 * 2 ** 20;
