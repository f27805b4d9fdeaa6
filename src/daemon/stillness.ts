/** How long a thread has stood still, as another one sees it that looks again and again. */
export class Stillness {
  readonly #everyMs: number;
  #beat: number;
  #lookedAt: number;
  #ms = 0;

  constructor(everyMs: number, beat: number, now: number) {
    this.#everyMs = everyMs;
    this.#beat = beat;
    this.#lookedAt = now;
  }

  /** Milliseconds since the beat has changed. While the machine sleeps, or the process is suspended, the looking thread stands still too. */
  look(beat: number, now: number): number {
    const passed = Math.min(now - this.#lookedAt, 2 * this.#everyMs);
    this.#lookedAt = now;
    this.#ms = beat === this.#beat ? this.#ms + passed : 0;
    this.#beat = beat;
    return this.#ms;
  }
}
