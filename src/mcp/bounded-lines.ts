/**
 * Passes on the lines of a stream, each at once, and drops lines that are too long: a client that sends one gets an error and can go
 * on, and the memory of the server stays bounded.
 */
import { Transform, type TransformCallback } from 'node:stream';

/** Less than the transport holds (10 MB), which would end the connection. */
export const MAX_LINE_BYTES: number = 8 * 2 ** 20;

export class BoundedLines extends Transform {
  readonly #refuse: (id: string | number | null) => void;
  /** The beginning of a line, as long as it may be used. */
  #held: Buffer[] = [];
  #length = 0;
  /** The last bytes of a line that is too long. */
  #end: Buffer = Buffer.alloc(0);

  /** `refuse` is told the id of the request in a line that is too long, if there is one. */
  constructor(refuse: (id: string | number | null) => void) {
    super();
    this.#refuse = refuse;
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    let from = 0;
    for (let at = chunk.indexOf(BREAK); at >= 0; at = chunk.indexOf(BREAK, from)) {
      this.#take(chunk.subarray(from, at + 1));
      this.#endLine();
      from = at + 1;
    }
    this.#take(chunk.subarray(from));
    done();
  }

  override _flush(done: TransformCallback): void {
    this.#endLine();
    done();
  }

  #take(part: Buffer): void {
    this.#length += part.length;
    if (this.#length <= MAX_LINE_BYTES) this.#held.push(part);
    else {
      this.#held = [Buffer.concat(this.#held, Math.min(ID_BYTES, this.#length - part.length))];
      this.#end = Buffer.concat([this.#end, part.subarray(-ID_BYTES)]).subarray(-ID_BYTES);
    }
  }

  #endLine(): void {
    const line = Buffer.concat(this.#held);
    if (this.#length > MAX_LINE_BYTES) this.#refuse(idIn(line.toString('utf8'), this.#end.toString('utf8')));
    else if (line.length > 0) this.push(line);
    this.#held = [];
    this.#length = 0;
    this.#end = Buffer.alloc(0);
  }
}

const BREAK = 10;
/** Clients write the id of a request at the beginning or at the end. */
const ID_BYTES = 1000;

function idIn(start: string, end: string): string | number | null {
  const found = AT_START.exec(start)?.[1] ?? AT_END.exec(end)?.[1];
  if (found === undefined) return null;
  return found.startsWith('"') ? found.slice(1, -1) : Number(found);
}

const ID = String.raw`"id"\s*:\s*(\d{1,15}|"[^"\\]{1,200}")`;
const VERSION = String.raw`"jsonrpc"\s*:\s*"2\.0"`;
const AT_START = new RegExp(String.raw`^\s*\{\s*(?:${VERSION}\s*,\s*)?${ID}\s*,`);
const AT_END = new RegExp(String.raw`,\s*${ID}\s*(?:,\s*${VERSION}\s*)?\}\s*$`);
