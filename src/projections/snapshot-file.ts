import { snapshotText, readSnapshot, type JournalMark, type Snapshot } from '../journal/snapshot.ts';
import { PRIVATE_FILE } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';

/** `snapshot.json`: what the journal folds to, so that opening it stays quick. */
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

  /** How many events the journal has got since the last snapshot. */
  growth({ events }: JournalMark): number {
    return events - this.#takenAt;
  }

  write(snapshot: Snapshot): void {
    this.#takenAt = snapshot.mark.events;
    replaceFile(this.#path, snapshotText(snapshot), { mode: PRIVATE_FILE });
  }
}
