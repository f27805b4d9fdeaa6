import { drawn, lastLines } from '../loop/last-lines.ts';

/**
 * When a run was last active: when it printed something, or when what a terminal shows of it last changed. Repainting the
 * same text is no activity of the second kind.
 */
export class Activity {
  readonly #looksAt: 'output' | 'drawn-output' | 'terminal';
  #at: number;
  #shown: string | null = null;
  /** The end of the output, for as long as it was not drawn yet. */
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #heardAt = 0;
  #drawnAt = Number.NEGATIVE_INFINITY;

  constructor(of: 'output' | 'screen', hasTerminal: boolean, now: number) {
    this.#looksAt = of === 'output' ? 'output' : hasTerminal ? 'terminal' : 'drawn-output';
    this.#at = now;
  }

  get at(): number {
    return this.#at;
  }

  /** Whether only its terminal counts: neither files that change nor open tool calls. */
  get isTerminalOnly(): boolean {
    return this.#looksAt === 'terminal';
  }

  /** Something else than its output shows that it is active. */
  showed(at: number): void {
    this.#at = Math.max(this.#at, at);
  }

  /** It has printed something. The chunk is valid only during the call. */
  heard(chunk: Buffer, now: number): void {
    if (this.#looksAt === 'output') this.#at = now;
    if (this.#looksAt !== 'drawn-output') return;
    this.#keep(chunk);
    this.#heardAt = now;
    if (now - this.#drawnAt >= LOOK_EVERY_MS) this.settle(now);
  }

  /** Takes in what it printed since the last look; called before it is judged. */
  settle(now: number): void {
    if (this.#looksAt !== 'drawn-output' || this.#heardAt < this.#drawnAt) return;
    this.#drawnAt = now;
    this.#compare(drawn(Buffer.concat(this.#tail).toString('utf8')), this.#heardAt);
  }

  /** Takes in what its terminal shows; null if it cannot be inactive now. */
  saw(screen: string | null, now: number): void {
    if (this.#looksAt !== 'terminal') return;
    if (screen === null) this.#at = now;
    else this.#compare(screen, now);
  }

  #compare(text: string, at: number): void {
    const lines = lastLines(text);
    if (lines === this.#shown) return;
    this.#shown = lines;
    this.showed(at);
  }

  #keep(chunk: Buffer): void {
    // Copied, since the chunk is valid only now.
    const part = Buffer.from(chunk.subarray(-TAIL_BYTES));
    this.#tail.push(part);
    this.#tailBytes += part.length;
    while (this.#tailBytes - (this.#tail[0]?.length ?? 0) >= TAIL_BYTES)
      this.#tailBytes -= this.#tail.shift()?.length ?? 0;
    if (this.#tail.length > MAX_PARTS) this.#tail = [Buffer.concat(this.#tail)];
  }
}

/** How often the screen is looked at. */
export const LOOK_EVERY_MS = 2000;
/** More than the last lines of any terminal. */
const TAIL_BYTES = 64 * 1024;
const MAX_PARTS = 1000;
