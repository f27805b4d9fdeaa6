/**
 * Follows a file that another process writes. It reads when `look` is called. Reads are sequential, so that a flood stays
 * in the file instead of memory, and the event loop runs between them.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';

const CHUNK_BYTES = 256 * 1024;

/** Shared by all tails: a chunk is valid only during one call, and there is only one thread. */
const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);

export class Tail {
  readonly #descriptor: number;
  readonly #onChunk: OnChunk;
  #offset: number;
  #reading: Promise<void> = Promise.resolve();
  #isReading = false;
  #hasRequest = false;
  #isAbandoned = false;
  #isClosed = false;

  /** Reads from an offset and passes on every chunk. The chunk is valid only during the call. */
  constructor(path: string, from: number, onChunk: OnChunk) {
    this.#descriptor = openSync(path, 'r');
    this.#onChunk = onChunk;
    this.#offset = from;
  }

  /** The position up to which it has read. */
  get offset(): number {
    return this.#offset;
  }

  /** Reads what is new, if anything. After an error of `onChunk` it reads nothing more, and `close` throws the error. */
  look(): void {
    this.#hasRequest = true;
    if (this.#isReading) return;
    this.#isReading = true;
    this.#reading = this.#readWhileRequested();
    this.#reading.catch(() => {});
  }

  /**
   * Reads the rest (with `leave`: stops reading) and closes the file, also if a chunk could not be taken. With `read`, the writer must
   * have ended. Closing it again does nothing: its descriptor may be that of another file by then.
   */
  async close(rest: 'read' | 'leave' = 'read'): Promise<void> {
    if (this.#isClosed) return;
    if (rest === 'read') this.look();
    else this.#isAbandoned = true;
    try {
      await this.#reading;
    } finally {
      if (!this.#isClosed) closeSync(this.#descriptor);
      this.#isClosed = true;
    }
  }

  async #readWhileRequested(): Promise<void> {
    while (this.#hasRequest) {
      this.#hasRequest = false;
      while (!this.#isAbandoned) {
        const count = readSync(this.#descriptor, buffer, 0, CHUNK_BYTES, this.#offset);
        if (count === 0) break;
        this.#offset += count;
        const pending = this.#onChunk(buffer.subarray(0, count));
        // oxlint-disable-next-line no-await-in-loop -- a slow reader holds back the next read
        if (pending !== undefined) await pending;
        // oxlint-disable-next-line no-await-in-loop -- a flood must not delay timers and signals
        if (count === CHUNK_BYTES) await yieldToEventLoop();
      }
    }
    this.#isReading = false;
  }
}

/** It is done with the chunk when it returns; a returned promise delays the next one. */
type OnChunk = (chunk: Buffer) => void | Promise<void>;
