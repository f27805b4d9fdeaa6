/**
 * Follows a file that somebody else writes, whenever it is told to look. Reads come one after the other, so that a
 * flood waits in the file and not in memory, and others get their turn in between.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { setImmediate as yieldToOthers } from 'node:timers/promises';

const CHUNK = 256 * 1024;

/** One for all: a chunk is lent for the length of one call, and there is only one thread. */
const buffer = Buffer.allocUnsafeSlow(CHUNK);

export class Tail {
  readonly #descriptor: number;
  readonly #take: (chunk: Buffer) => void;
  #offset: number;
  #reading: Promise<void> = Promise.resolve();
  #isReading = false;
  #again = false;

  /** Reads from an offset on and hands over every chunk; the chunk is only lent. */
  constructor(path: string, from: number, take: (chunk: Buffer) => void) {
    this.#descriptor = openSync(path, 'r');
    this.#take = take;
    this.#offset = from;
  }

  /** How far it has read. */
  get offset(): number {
    return this.#offset;
  }

  /** There may be something new. */
  look(): void {
    this.#again = true;
    if (this.#isReading) return;
    this.#isReading = true;
    this.#reading = this.#readWhileAsked();
  }

  /** Reads what is still there and lets go of the file; the writer must have ended. */
  async close(): Promise<void> {
    this.look();
    await this.#reading;
    closeSync(this.#descriptor);
  }

  async #readWhileAsked(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      for (;;) {
        const count = readSync(this.#descriptor, buffer, 0, CHUNK, this.#offset);
        if (count === 0) break;
        this.#offset += count;
        this.#take(buffer.subarray(0, count));
        // oxlint-disable-next-line no-await-in-loop -- a flood must not keep timers and signals waiting
        if (count === CHUNK) await yieldToOthers();
      }
    }
    this.#isReading = false;
  }
}
