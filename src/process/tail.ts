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
  readonly #take: Take;
  #offset: number;
  #reading: Promise<void> = Promise.resolve();
  #isReading = false;
  #again = false;
  #isLeft = false;

  /** Reads from an offset on and hands over every chunk; the chunk is only lent. */
  constructor(path: string, from: number, take: Take) {
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

  /** Reads what is still there, unless it is to be left, and lets go of the file; the writer must have ended. */
  async close(rest: 'read' | 'leave' = 'read'): Promise<void> {
    if (rest === 'read') this.look();
    else this.#isLeft = true;
    await this.#reading;
    closeSync(this.#descriptor);
  }

  async #readWhileAsked(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      while (!this.#isLeft) {
        const count = readSync(this.#descriptor, buffer, 0, CHUNK, this.#offset);
        if (count === 0) break;
        this.#offset += count;
        const taken = this.#take(buffer.subarray(0, count));
        // oxlint-disable-next-line no-await-in-loop -- whoever shows it may be slow; the rest waits in the file
        if (taken !== undefined) await taken;
        // oxlint-disable-next-line no-await-in-loop -- a flood must not keep timers and signals waiting
        if (count === CHUNK) await yieldToOthers();
      }
    }
    this.#isReading = false;
  }
}

/** Done with the chunk when it returns; a promise says when it wants the next. */
type Take = (chunk: Buffer) => void | Promise<void>;
