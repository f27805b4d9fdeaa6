import { snapshotText, readSnapshot, type JournalMark, type Snapshot } from '../journal/snapshot.ts';
import { PRIVATE_FILE } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';

/** Write a snapshot when the journal has grown by this many events since the last one. */
const EVENTS_PER_SNAPSHOT = 1000;

/** `snapshot.json`: what the beginning of a long journal folds to, so that opening it stays quick. */
export class SnapshotFile {
  readonly #path: string;
  readonly #earlier: Snapshot | null;
  #takenAt = 0;

  constructor(path: string) {
    this.#path = path;
    this.#earlier = readSnapshot(path);
  }

  /** Where the snapshot of an earlier owner ends in the journal. */
  get mark(): JournalMark | null {
    return this.#earlier?.mark ?? null;
  }

  /** The snapshot of an earlier owner, once the journal has confirmed it. */
  use(): Snapshot | null {
    this.#takenAt = this.#earlier?.mark.events ?? 0;
    return this.#earlier;
  }

  /** `isLast` says that the next owner reads it soon, as that of a loop in a session does: a few events take longer to read. */
  isDue({ events }: JournalMark, isLast: boolean): boolean {
    return events >= this.#takenAt + (isLast ? 1 : EVENTS_PER_SNAPSHOT);
  }

  write(snapshot: Snapshot): void {
    this.#takenAt = snapshot.mark.events;
    replaceFile(this.#path, snapshotText(snapshot), { mode: PRIVATE_FILE });
  }
}
