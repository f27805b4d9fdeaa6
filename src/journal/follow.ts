import { closeSync, readSync } from 'node:fs';
import { openRegular } from '../files/files.ts';
import type { LoopEvent } from '../loop/event.ts';
import { readLine } from './file.ts';

/** Follows a journal that another process writes. */
export class JournalFollower {
  readonly #path: string;
  #offset = 0;
  #lines = 0;
  #rest: Buffer = Buffer.alloc(0);

  constructor(path: string) {
    this.#path = path;
  }

  /** The events that were written since the last look. */
  look(): readonly LoopEvent[] {
    const events: LoopEvent[] = [];
    const content = Buffer.concat([this.#rest, this.#readOn()]);
    let start = 0;
    for (let end = content.indexOf(10); end >= 0; end = content.indexOf(10, start)) {
      const event = this.#lines === 0 ? null : readLine(content.subarray(start, end), this.#lines);
      if (event !== null) events.push(event);
      this.#lines++;
      start = end + 1;
    }
    this.#rest = content.subarray(start);
    return events;
  }

  #readOn(): Buffer {
    const descriptor = openOrNull(this.#path);
    // It was removed; its owner writes it again within a second.
    if (descriptor === null) return Buffer.alloc(0);
    const chunks: Buffer[] = [];
    for (;;) {
      const chunk = Buffer.allocUnsafe(64 * 1024);
      const count = readSync(descriptor, chunk, 0, chunk.length, this.#offset);
      if (count === 0) break;
      this.#offset += count;
      chunks.push(chunk.subarray(0, count));
    }
    closeSync(descriptor);
    return Buffer.concat(chunks);
  }
}

function openOrNull(path: string): number | null {
  try {
    return openRegular(path, 'read');
  } catch {
    return null;
  }
}
