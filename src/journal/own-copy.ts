/**
 * The owner's own copy of its journal, in a file without a name: a process that replaces, cuts or overwrites the journal does not
 * reach it. Lines are collected, so that most events cost no write, and it is gone with its owner.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, readSync, rmSync, unlinkSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { namesIn, openRegular, PRIVATE_FOLDER, makeFolders } from '../files/files.ts';
import { reasonOf } from '../user-error.ts';
import type { JournalMark } from './snapshot.ts';

export class OwnCopy {
  /** Null if it cannot be written; the loop goes on without it. */
  #descriptor: number | null = null;
  #collected = '';

  /** Copies the first `bytes` of an open journal. */
  constructor(journal: number, path: string, bytes: number) {
    this.#try(() => {
      const name = join(dirname(path), `.journal-${randomUUID()}`);
      const descriptor = openRegular(name, 'append');
      this.#descriptor = descriptor;
      unlinkSync(name);
      for (const chunk of chunksOf(journal, bytes)) writeAll(descriptor, chunk);
    });
  }

  add(text: string): void {
    if (this.#descriptor === null) return;
    this.#collected += text;
    if (this.#collected.length > MAX_COLLECTED) this.#write();
  }

  /** The open copy with everything that was added; null if there is none. */
  get descriptor(): number | null {
    this.#write();
    return this.#descriptor;
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }

  #write(): void {
    const text = this.#collected;
    this.#collected = '';
    this.#try(() => {
      if (this.#descriptor !== null) writeAll(this.#descriptor, Buffer.from(text));
    });
  }

  #try(work: () => void): void {
    try {
      work();
    } catch {
      this.close();
    }
  }
}

const MAX_COLLECTED = 16 * 1024;

/** Puts the journal as its owner wrote it beside what another process has made of it; says where it is. */
export function keepIntact(path: string, sources: readonly (number | null)[], mark: JournalMark): string {
  const kept = datedName(`${path}${INTACT}`);
  try {
    makeFolders(dirname(path), PRIVATE_FOLDER);
    saveIntact(kept, sources, mark);
    return `an intact copy of what its owner wrote is ${kept}`;
  } catch (error) {
    return `an intact copy could not be kept: ${reasonOf(error)}`;
  }
}

/** The last intact copy that an owner has put beside a journal; null if there is none. */
export function intactCopy(path: string): string | null {
  const start = `${basename(path)}${INTACT}`;
  const kept = namesIn(dirname(path)).findLast((name) => name.startsWith(start));
  return kept === undefined ? null : join(dirname(path), kept);
}

const INTACT = '.intact-';

/** A name with the time that is not taken. */
export function datedName(start: string): string {
  const name = `${start}${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  let free = name;
  for (let number = 2; existsSync(free); number++) free = `${name}-${number}`;
  return free;
}

/** Writes the journal up to a mark to a new file, from the first source that still has it; throws if none has. */
function saveIntact(path: string, sources: readonly (number | null)[], mark: JournalMark): void {
  const source = sources.find((one) => one !== null && hasIntact(one, mark)) ?? null;
  if (source === null) throw new Error('every copy of it was changed');
  const descriptor = openRegular(path, 'create');
  try {
    for (const chunk of chunksOf(source, mark.bytes)) writeAll(descriptor, chunk);
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** Whether a file begins with exactly the journal up to a mark. */
export function hasIntact(descriptor: number, { bytes, sum }: JournalMark): boolean {
  let found = 0;
  let length = 0;
  for (const chunk of chunksOf(descriptor, bytes)) {
    found = crc32(chunk, found);
    length += chunk.length;
  }
  return length === bytes && found === sum;
}

/** The first `bytes` of a file, or fewer at its end. Each chunk is valid until the next. */
function* chunksOf(descriptor: number, bytes: number): Generator<Buffer, void, void> {
  const buffer = Buffer.alloc(Math.min(bytes, CHUNK));
  for (let at = 0; at < bytes;) {
    const count = readSync(descriptor, buffer, 0, Math.min(buffer.length, bytes - at), at);
    if (count === 0) return;
    yield buffer.subarray(0, count);
    at += count;
  }
}

const CHUNK = 1024 * 1024;

function writeAll(descriptor: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at);
}
