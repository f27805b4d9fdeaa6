import { appendFileSync, mkdirSync, statSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';
import { reasonOf } from '../user-error.ts';

/** A file that is only appended to, whole texts at a time. A text that could not be written is offered again later. */
export class GrowingFile {
  readonly path: string;
  readonly #warn: (line: string) => void;
  #hasWarned = false;

  constructor(path: string, warn: (line: string) => void) {
    this.path = path;
    this.#warn = warn;
  }

  get size(): number {
    return statSync(this.path, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Appends all of a text or nothing; whether it did. */
  append(text: string): boolean {
    if (text === '') return true;
    const { size } = this;
    try {
      mkdirSync(dirname(this.path), { recursive: true });
      appendFileSync(this.path, text);
      this.#hasWarned = false;
      return true;
    } catch (error) {
      this.warn(error);
      if (this.size > size) truncateSync(this.path, size);
      return false;
    }
  }

  /** Warns once for as long as the trouble lasts. */
  warn(error: unknown): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#warn(`warning: cannot write ${this.path}: ${reasonOf(error)}; the loop continues without it`);
  }
}
