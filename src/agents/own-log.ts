/**
 * Leaves out the lines of a log that a CLI prints on stderr only because Ralph asks for it. What begins like such a line is held
 * back until more of it is known; at most a part of the prefix is lost if the output ends there.
 */
export class OwnLogFilter {
  readonly #prefix: Buffer;
  #at: 'start' | 'shown' | 'hidden' = 'start';
  /** How much of the prefix the line has so far. */
  #matched = 0;

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix);
  }

  /** Returns the bytes that are shown. */
  push(chunk: Buffer): Buffer {
    const shown: Buffer[] = [];
    let from = 0;
    while (from < chunk.length) {
      if (this.#at === 'start') {
        from = this.#compare(chunk, from, shown);
        continue;
      }
      const lineEnd = chunk.indexOf(LINE_FEED, from);
      const end = lineEnd < 0 ? chunk.length : lineEnd + 1;
      if (this.#at === 'shown') shown.push(chunk.subarray(from, end));
      if (lineEnd >= 0) this.#at = 'start';
      from = end;
    }
    return Buffer.concat(shown);
  }

  /** Compares the next bytes with the prefix; returns where the line continues. */
  #compare(chunk: Buffer, from: number, shown: Buffer[]): number {
    for (let at = from; at < chunk.length; at++) {
      if (chunk[at] !== this.#prefix[this.#matched]) {
        shown.push(this.#prefix.subarray(0, this.#matched));
        this.#begin('shown');
        return at;
      }
      this.#matched++;
      if (this.#matched === this.#prefix.length) {
        this.#begin('hidden');
        return at + 1;
      }
    }
    return chunk.length;
  }

  #begin(line: 'shown' | 'hidden'): void {
    this.#at = line;
    this.#matched = 0;
  }
}

const LINE_FEED = 10;
