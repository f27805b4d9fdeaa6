/**
 * Cuts bytes into lines. Only a line feed ends a line (a JSON string may hold U+2028), a character may be split over
 * two chunks, and only the new chunk is searched, so that a line of any length costs no more than its bytes.
 */
export class LineSplitter {
  readonly #longest: number;
  #parts: Buffer[] = [];
  #length = 0;
  #overlong = false;

  /** A line longer than this many bytes is not kept: it comes out as `null`. */
  constructor(longest: number = 32 * 1024 * 1024) {
    this.#longest = longest;
  }

  /** The lines that end in this chunk, without their line ends; null for one that was too long. */
  push(chunk: Buffer): (string | null)[] {
    const lines: (string | null)[] = [];
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.#keep(chunk.subarray(start, end));
      lines.push(this.#take());
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
    return lines;
  }

  /** What stands behind the last line end, if anything does. */
  end(): string | null | undefined {
    return this.#length === 0 && !this.#overlong ? undefined : this.#take();
  }

  #keep(part: Buffer): void {
    if (part.length === 0 || this.#overlong) return;
    this.#length += part.length;
    this.#overlong = this.#length > this.#longest;
    // A copy, or a small rest would hold on to the whole chunk.
    if (this.#overlong) this.#parts = [];
    else this.#parts.push(Buffer.from(part));
  }

  #take(): string | null {
    const line = this.#overlong
      ? null
      : Buffer.concat(this.#parts, this.#length).toString('utf8').replace(/\r$/, '');
    this.#parts = [];
    this.#length = 0;
    this.#overlong = false;
    return line;
  }
}
