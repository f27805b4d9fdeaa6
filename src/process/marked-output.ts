/** Collects output until a line with a mark and an exit code. */
export class MarkedOutput {
  readonly #chunks: Buffer[] = [];
  #end = '';

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#end = `${this.#end}${chunk.subarray(-MAX_END).toString('latin1')}`.slice(-MAX_END);
  }

  codeAfter(mark: string): number | null {
    if (!this.#end.endsWith('\n')) return null;
    const at = this.#end.lastIndexOf(`\n${mark} `);
    return at < 0 ? null : Number(this.#end.slice(at + mark.length + 2));
  }

  before(mark: string): Buffer {
    const all = this.#chunks.length === 1 ? this.#chunks[0] : undefined;
    const bytes = all ?? Buffer.concat(this.#chunks);
    const at = bytes.lastIndexOf(`\n${mark} `);
    return at < 0 ? bytes : bytes.subarray(0, at);
  }
}

/** Longer than a mark and an exit code. */
const MAX_END = 64;
