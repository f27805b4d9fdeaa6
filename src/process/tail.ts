/**
 * Follows a file that somebody else writes. The kernel says when it has grown; a look now and then covers what it does
 * not say. Reads come one after the other, so that a flood waits in the file and not in memory.
 */
import { watch, type FSWatcher } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

/** Reads a file from an offset on and hands over every chunk, until it is told that nothing more will come. */
export async function followFile(
  path: string,
  from: number,
  take: (chunk: Buffer) => void | Promise<void>,
): Promise<Tail> {
  const file = await open(path, 'r');
  return new Tail(file, path, from, take);
}

const CHUNK = 256 * 1024;
const SAFETY_LOOK_MS = 1000;

export class Tail {
  readonly #file: FileHandle;
  readonly #take: (chunk: Buffer) => void | Promise<void>;
  readonly #watcher: FSWatcher | null;
  readonly #timer: NodeJS.Timeout;
  readonly #buffer = Buffer.allocUnsafe(CHUNK);
  #offset: number;
  #reading: Promise<void> | null = null;
  #again = false;

  constructor(file: FileHandle, path: string, from: number, take: (chunk: Buffer) => void | Promise<void>) {
    this.#file = file;
    this.#take = take;
    this.#offset = from;
    this.#watcher = watchOrNull(path, () => this.#look());
    this.#timer = setInterval(() => this.#look(), SAFETY_LOOK_MS).unref();
    this.#look();
  }

  /** How far it has read. */
  get offset(): number {
    return this.#offset;
  }

  /** Reads what is still there and lets go of the file; the writer must have ended. */
  async close(): Promise<void> {
    this.#watcher?.close();
    clearInterval(this.#timer);
    await this.#reading;
    await this.#readOn();
    await this.#file.close();
  }

  #look(): void {
    this.#again = true;
    this.#reading ??= this.#readWhileAsked();
  }

  async #readWhileAsked(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      // oxlint-disable-next-line no-await-in-loop -- one read after the other is the point
      await this.#readOn();
    }
    this.#reading = null;
  }

  async #readOn(): Promise<void> {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- as above
      const { bytesRead } = await this.#file.read(this.#buffer, 0, CHUNK, this.#offset);
      if (bytesRead === 0) return;
      this.#offset += bytesRead;
      // oxlint-disable-next-line no-await-in-loop -- whoever takes it may be slow
      await this.#take(this.#buffer.subarray(0, bytesRead));
    }
  }
}

function watchOrNull(path: string, changed: () => void): FSWatcher | null {
  try {
    const watcher = watch(path, { persistent: false }, changed);
    watcher.on('error', () => {});
    return watcher;
  } catch {
    return null;
  }
}
