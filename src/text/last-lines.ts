/** Keeps the last lines of an output of any length. */
export class LastLines {
  readonly #limit: number;
  #pieces: { readonly bytes: Buffer; readonly breaks: number }[] = [];
  /** The line breaks in all pieces. */
  #breaks = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(piece: string | Buffer): void {
    const bytes = Buffer.from(piece);
    const breaks = breaksIn(bytes);
    this.#pieces.push({ bytes, breaks });
    this.#breaks += breaks;
    for (let [first] = this.#pieces; first !== undefined; [first] = this.#pieces) {
      // One break more than lines, because the last line may end with one.
      if (this.#breaks - first.breaks <= this.#limit) return;
      this.#pieces.shift();
      this.#breaks -= first.breaks;
    }
  }

  /** The kept lines; keeps nothing after that. */
  take(): Buffer {
    const bytes = Buffer.concat(this.#pieces.map((piece) => piece.bytes));
    this.#pieces = [];
    this.#breaks = 0;
    let start = bytes.at(-1) === BREAK ? bytes.length - 1 : bytes.length;
    for (let lines = 0; lines < this.#limit && start >= 0; lines++)
      start = start === 0 ? -1 : bytes.lastIndexOf(BREAK, start - 1);
    return bytes.subarray(start + 1);
  }
}

/**
 * Keeps the last lines of several outputs as if they were one. Reads them from the last one on, until there are enough: `read`
 * adds one output.
 */
export async function lastLinesOf<T>(
  limit: number,
  outputs: readonly T[],
  read: (output: T, lines: LastLines) => Promise<void>,
): Promise<LastLines> {
  const ends: Buffer[] = [];
  // An output may continue the last line of the one before it: only a break more than lines shows where the first line begins.
  let missing = limit + 1;
  for (const output of outputs.toReversed()) {
    if (missing <= 0) break;
    const lines = new LastLines(missing + 1);
    // oxlint-disable-next-line no-await-in-loop -- no more than are needed
    await read(output, lines);
    const end = lines.take();
    ends.unshift(end);
    missing -= breaksIn(end);
  }
  const all = new LastLines(limit);
  for (const end of ends) all.add(end);
  return all;
}

const BREAK = 10;

function breaksIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(BREAK); at >= 0; at = bytes.indexOf(BREAK, at + 1)) count++;
  return count;
}
