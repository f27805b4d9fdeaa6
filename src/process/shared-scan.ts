/**
 * Answers many questions with one expensive scan.
 *
 * 1. A question is answered by a scan that began after it was asked, never by an earlier one.
 * 2. Questions that are asked in one turn of the event loop, or while a scan is under way, share the next one.
 * 3. The answers are given in turns (`turns.ts`).
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { turn } from './turns.ts';

export class SharedScan<T> {
  readonly #scan: () => Promise<T>;
  #waiting: Question<T>[] = [];
  #isScanning = false;

  constructor(scan: () => Promise<T>) {
    this.#scan = scan;
  }

  /** Resolves to what `answer` makes of the next scan. */
  ask<A>(answer: (found: T) => A): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ answer: (found) => resolve(answer(found)), reject });
      if (!this.#isScanning) void this.#scanWhileAsked();
    });
  }

  async #scanWhileAsked(): Promise<void> {
    this.#isScanning = true;
    while (this.#waiting.length > 0) {
      // oxlint-disable-next-line no-await-in-loop -- one scan after the other
      await yieldToEventLoop();
      const asked = this.#waiting;
      this.#waiting = [];
      // oxlint-disable-next-line no-await-in-loop -- as above
      await this.#answer(asked);
    }
    this.#isScanning = false;
  }

  async #answer(asked: readonly Question<T>[]): Promise<void> {
    try {
      const found = await this.#scan();
      for (const question of asked) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await turn();
        answerOne(question, found);
      }
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  }
}

interface Question<T> {
  readonly answer: (found: T) => void;
  readonly reject: (error: unknown) => void;
}

function answerOne<T>({ answer, reject }: Question<T>, found: T): void {
  try {
    answer(found);
  } catch (error) {
    reject(error);
  }
}
