/**
 * A file in which a CLI records its session, one JSON object per line, read while it grows.
 *
 * 1. It is opened as a file that others can write: no link, no pipe. A file that cannot be read has no lines.
 * 2. A line counts when it has ended.
 * 3. At most `MAX_BYTES` are read at once: of more, only the last.
 */
import { closeSync, fstatSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { openRegular, readAll } from '../files/files.ts';
import { LineSplitter } from '../process/lines.ts';
import type { Environment } from '../process/process.ts';

export class RecordFile {
  readonly #path: string;
  readonly #take: (line: string) => void;
  #lines = new LineSplitter(MAX_LINE);
  #at = 0;
  #isWhole = true;

  constructor(path: string, take: (line: string) => void) {
    this.#path = path;
    this.#take = take;
  }

  /** Whether nothing at the beginning of the file was left out. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Reads the lines that were added since the last call. */
  read(): void {
    let file: number;
    try {
      file = openRegular(this.#path, 'read');
    } catch {
      return;
    }
    try {
      const { size } = fstatSync(file);
      // Another file, or the same one written anew.
      if (size < this.#at) this.#skipTo(0);
      if (size - this.#at > MAX_BYTES) this.#skipTo(size - MAX_BYTES);
      while (this.#at < size) {
        const piece = readAll(file, Math.min(PIECE_BYTES, size - this.#at), this.#at);
        if (piece.length === 0) return;
        this.#at += piece.length;
        for (const line of this.#lines.push(piece)) if (line !== null) this.#take(line);
      }
    } catch {
      // What was read until then counts.
    } finally {
      closeSync(file);
    }
  }

  #skipTo(at: number): void {
    this.#isWhole = at === 0;
    this.#at = at;
    this.#lines = new LineSplitter(MAX_LINE);
  }
}

/** A session of one night. */
const MAX_BYTES = 64 * 2 ** 20;
const MAX_LINE = 8 * 2 ** 20;
const PIECE_BYTES = 256 * 1024;

/** The folder of a CLI, as the CLI itself looks for it in its own environment; null if that names none. */
export function folderOf(env: Environment, variable: string, below: string): string | null {
  const { [variable]: given = '', HOME: home = '' } = env;
  const folder = given === '' ? join(home, below) : given;
  return isAbsolute(folder) ? folder : null;
}

/** The end of a record; null if it is not a regular file. */
export function readEnd(path: string): { readonly text: string; readonly isWhole: boolean } | null {
  let file: number;
  try {
    file = openRegular(path, 'read');
  } catch {
    return null;
  }
  try {
    const { size } = fstatSync(file);
    const from = Math.max(0, size - MAX_END_BYTES);
    return { text: readAll(file, size - from, from).toString('utf8'), isWhole: from === 0 };
  } catch {
    return null;
  } finally {
    closeSync(file);
  }
}

/** What is looked for may be followed by the output of a tool. */
const MAX_END_BYTES = 8 * 2 ** 20;
