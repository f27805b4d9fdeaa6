/**
 * Knows which loop the daemon is working for, and lets a thread (`freeze-guard.ts`) end the daemon if that takes too long: one
 * loop must not keep the others waiting for good.
 *
 * 1. What a loop starts belongs to it: timers, watchers, processes and promises, and what these start.
 * 2. The thread never asks the main thread. It sees in shared memory whether that still moves, and for which loop it works.
 */
import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { loopsFolder } from '../home/home.ts';

/** A file of the command: the library has no daemon. */
const GUARD = fileURLToPath(new URL('../cli/freeze-guard.js', import.meta.url));

/** The places of the numbers in the shared memory: one that grows while the main thread moves, and the loop. */
export const BEAT = 0;
export const LOOP = 1;

export interface GuardData {
  readonly shared: Int32Array;
  readonly limitMs: number;
}

/** The loop with this number in the shared memory; null if there is none any more. */
export interface WatchedLoop {
  readonly number: number;
  readonly id: string;
  readonly files: { readonly journal: string; readonly trouble: string } | null;
}

export class Watchdog {
  readonly #shared = new Int32Array(new SharedArrayBuffer(8));
  readonly #context = new AsyncLocalStorage<WatchedLoop>();
  readonly #hook = createHook({
    before: () => this.#show(this.#context.getStore() ?? null),
  });
  readonly #guard: Worker;
  readonly #heart: NodeJS.Timeout;
  #watched = 0;

  constructor(limitMs: number) {
    const data: GuardData = { shared: this.#shared, limitMs };
    this.#guard = new Worker(GUARD, { workerData: data });
    // A daemon without a guard works like one with it.
    this.#guard.on('error', () => {});
    this.#guard.unref();
    this.#hook.enable();
    this.#heart = setInterval(() => Atomics.add(this.#shared, BEAT, 1), beatMs(limitMs)).unref();
  }

  /** Works for a loop until the promise settles. */
  async watch(id: string, work: () => Promise<void>): Promise<void> {
    const loop: WatchedLoop = { number: ++this.#watched, id, files: filesOf(id) };
    this.#tell(loop);
    try {
      this.#show(loop);
      const done = this.#context.run(loop, work);
      this.#show(null);
      await done;
    } finally {
      this.#tell({ ...loop, files: null });
    }
  }

  /** The loop that the running code belongs to; null if it belongs to none. */
  get current(): WatchedLoop | null {
    return this.#context.getStore() ?? null;
  }

  async close(): Promise<void> {
    clearInterval(this.#heart);
    this.#hook.disable();
    await this.#guard.terminate();
  }

  #tell(loop: WatchedLoop): void {
    // oxlint-disable-next-line require-post-message-target-origin -- a thread has no origin
    this.#guard.postMessage(loop);
  }

  #show(loop: WatchedLoop | null): void {
    Atomics.store(this.#shared, LOOP, loop?.number ?? 0);
  }
}

function filesOf(id: string): NonNullable<WatchedLoop['files']> {
  const path = join(loopsFolder(), id);
  return { journal: join(path, 'journal.jsonl'), trouble: join(path, 'trouble.json') };
}

/** How often the main thread shows that it moves, and the guard looks. */
export function beatMs(limitMs: number): number {
  return Math.min(1000, limitMs / 10);
}

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
