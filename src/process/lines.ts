/**
 * Splits bytes into lines. Only a line feed ends a line, since a JSON string may contain U+2028. A character may span two
 * chunks. Only the new chunk is searched, so the cost of a long line is linear in its bytes.
 */
export class LineSplitter {
  readonly #maxLength: number;
  #parts: Buffer[] = [];
  #length = 0;
  #overlong = false;

  /** A line longer than `maxLength` bytes is dropped and returned as `null`. */
  constructor(maxLength: number = 32 * 1024 * 1024) {
    this.#maxLength = maxLength;
  }

  /** Returns the lines that end in this chunk, without their line ends; null for a line that was too long. */
  push(chunk: Buffer): (string | null)[] {
    const lines: (string | null)[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      lines.push(this.#lineIn(chunk, start, end));
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
    return lines;
  }

  /** Returns the unfinished last line; undefined if there is none. */
  end(): string | null | undefined {
    return this.#length === 0 && !this.#overlong ? undefined : this.#take();
  }

  /** The line that ends here. Most lines are within one chunk, and are decoded there without a copy. */
  #lineIn(chunk: Buffer, start: number, end: number): string | null {
    if (this.#length > 0 || this.#overlong || end - start > this.#maxLength) {
      this.#keep(chunk.subarray(start, end));
      return this.#take();
    }
    return decode(chunk, start, end);
  }

  #keep(part: Buffer): void {
    if (part.length === 0 || this.#overlong) return;
    this.#length += part.length;
    this.#overlong = this.#length > this.#maxLength;
    // Copied, because a view would keep the whole chunk in memory.
    if (this.#overlong) this.#parts = [];
    else this.#parts.push(Buffer.from(part));
  }

  #take(): string | null {
    const line = this.#overlong ? null : decode(Buffer.concat(this.#parts, this.#length), 0, this.#length);
    this.#parts = [];
    this.#length = 0;
    this.#overlong = false;
    return line;
  }
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** The text of a line, without the carriage return of a line end as Windows has it. */
function decode(bytes: Buffer, start: number, end: number): string {
  const last = end > start && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end;
  return bytes.toString('utf8', start, last);
}
