import { closeSync, fstatSync, readSync } from 'node:fs';
import { openRegular } from '../files/files.ts';
import type { LoopEvent } from '../loop/event.ts';
import { readLine } from './lines.ts';

/**
 * Follows a journal that another process writes. It waits at a line that is not complete or damaged: the next owner of the
 * loop cuts that line off and writes another one in its place.
 */
export class JournalFollower {
  readonly #path: string;
  /** Where the first line begins that is not read yet. */
  #offset = 0;
  #lines = 0;
  /** The size and time of the file at the last look: what could not be read then is not read again until they change. */
  #seen = '';

  constructor(path: string) {
    this.#path = path;
  }

  /** The events that were written since the last look. */
  look(): readonly LoopEvent[] {
    const events: LoopEvent[] = [];
    const content = this.#readOn();
    let start = 0;
    for (let end = content.indexOf(10); end >= 0; end = content.indexOf(10, start)) {
      if (this.#lines > 0) {
        const event = readLine(content.subarray(start, end), this.#lines, this.#path);
        if (event === null) break;
        events.push(event);
      }
      this.#lines++;
      start = end + 1;
    }
    this.#offset += start;
    return events;
  }

  #readOn(): Buffer {
    const descriptor = openOrNull(this.#path);
    // It was removed; its owner writes it again within a second.
    if (descriptor === null) return Buffer.alloc(0);
    try {
      const { size, mtimeMs } = fstatSync(descriptor);
      const seen = `${size} ${mtimeMs}`;
      if (seen === this.#seen) return Buffer.alloc(0);
      this.#seen = seen;
      return readFrom(descriptor, this.#offset);
    } finally {
      closeSync(descriptor);
    }
  }
}

function readFrom(descriptor: number, offset: number): Buffer {
  const chunks: Buffer[] = [];
  for (let at = offset; ;) {
    const chunk = Buffer.allocUnsafe(64 * 1024);
    const count = readSync(descriptor, chunk, 0, chunk.length, at);
    if (count === 0) return Buffer.concat(chunks);
    at += count;
    chunks.push(chunk.subarray(0, count));
  }
}

function openOrNull(path: string): number | null {
  try {
    return openRegular(path, 'read');
  } catch {
    return null;
  }
}
