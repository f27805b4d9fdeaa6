import { countLoose, packRecords } from '../git/pack-records.ts';
import type { Repository } from '../git/git.ts';

/** Packs the objects of checkpoints in the background, once there are many. A failure changes nothing and is not reported. */
export class Packing {
  readonly #stop = new AbortController();
  #running: Promise<void> | null = null;
  /** How many loose objects were left the last time: the user's, which stay. */
  #left = 0;

  /** Call after a checkpoint. */
  consider(repository: Repository): void {
    if (this.#running !== null || this.#stop.signal.aborted) return;
    this.#running = this.#pack({ ...repository, interrupt: this.#stop.signal })
      .catch(() => {})
      .finally(() => {
        this.#running = null;
      });
  }

  /** Ends what is running. */
  async end(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #pack(repository: Repository): Promise<void> {
    if ((await countLoose(repository)) < this.#left + MANY) return;
    await packRecords(repository);
    this.#left = await countLoose(repository);
  }
}

/** Git's own limit is 6,700, but people switch it off. */
const MANY = 5000;
