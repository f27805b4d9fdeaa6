/**
 * Tells when something may have changed in a folder.
 *
 * 1. The kernel reports changes at once. A safety look follows each second: some file systems send no events, and a folder
 *    that was removed and made again needs a new watcher.
 * 2. The safety looks of all folders share one timer, so that a process that has nothing to do wakes once a second. They are
 *    bounded: a process with many folders looks at each less often.
 * 3. Reports of one folder that arrive together count once, and those of many folders take turns (`turns.ts`).
 */
import { AsyncResource } from 'node:async_hooks';
import { statSync, watch, type FSWatcher } from 'node:fs';
import { firstOf } from './first-of.ts';
import { turn } from './turns.ts';

/** Calls back whenever something may have changed in a folder, and returns a function that stops it. */
export function watchFolder(path: string, onChange: () => void): () => void {
  const folder = folders.get(path) ?? new WatchedFolder(path);
  // An object of its own, because the same function may watch twice.
  const listener = { onChange };
  folder.listeners.add(listener);
  folders.set(path, folder);
  schedule();
  return () => {
    folder.listeners.delete(listener);
    if (folder.listeners.size > 0 || folders.get(path) !== folder) return;
    folder.close();
    folders.delete(path);
    if (folders.size === 0) cancel();
  };
}

/** Looks into folders at once and after each change, until `look` finds something; null if `timeout` aborts first. */
export function watchUntil<T>(
  path: string | readonly string[],
  look: (path: string) => T | null,
  timeout?: AbortSignal,
): Promise<T | null> {
  const paths = typeof path === 'string' ? [path] : path;
  return new Promise((resolve, reject) => {
    let isOver = false;
    const finish = (settle: () => void): void => {
      isOver = true;
      for (const stop of stops) stop();
      timeout?.removeEventListener('abort', onTimeout);
      settle();
    };
    const onTimeout = (): void => finish(() => resolve(null));
    const check = (one: string): void => {
      if (isOver) return;
      try {
        const found = look(one);
        if (found !== null) finish(() => resolve(found));
      } catch (error) {
        finish(() => reject(error));
      }
    };
    const stops = paths.map((one) => watchFolder(one, () => check(one)));
    timeout?.addEventListener('abort', onTimeout);
    if (timeout?.aborted === true) onTimeout();
    else setImmediate(() => paths.forEach(check));
  });
}

/** For a call that waits for news: until its time is over or its signal aborts; without a time, not at all. */
export function endOfWait({
  wait = 0,
  signal,
}: {
  readonly wait?: number;
  readonly signal?: AbortSignal;
}): AbortSignal {
  if (wait === 0) return AbortSignal.abort();
  const timeout = AbortSignal.timeout(Math.min(wait, LONGEST_WAIT_MS));
  return signal === undefined ? timeout : firstOf(timeout, signal);
}

/** Of a timer. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

/** In the order in which they are looked at next. */
const folders = new Map<string, WatchedFolder>();

class WatchedFolder {
  readonly listeners = new Set<{ readonly onChange: () => void }>();
  readonly #path: string;
  /** The safety looks share a timer, and what a look starts belongs to who watches. */
  readonly #context = new AsyncResource('ralph.watch');
  #identity: string | null;
  #watcher: FSWatcher | null;
  #isReported = false;

  constructor(path: string) {
    this.#path = path;
    this.#identity = identityOf(path);
    this.#watcher = this.#watch();
  }

  /** The safety look. */
  look(): void {
    const identity = identityOf(this.#path);
    if (identity !== this.#identity || this.#watcher === null) {
      this.#watcher?.close();
      this.#watcher = this.#watch();
      this.#identity = identity;
    }
    this.#tell();
  }

  close(): void {
    this.#watcher?.close();
  }

  #watch(): FSWatcher | null {
    try {
      const watcher = watch(this.#path, { persistent: false }, () => void this.#report());
      watcher.on('error', () => watcher.close());
      return watcher;
    } catch {
      return null;
    }
  }

  async #report(): Promise<void> {
    if (this.#isReported) return;
    this.#isReported = true;
    await turn();
    this.#isReported = false;
    this.#tell();
  }

  #tell(): void {
    this.#context.runInAsyncScope(() => {
      for (const { onChange } of this.listeners) onChange();
    });
  }
}

let timer: NodeJS.Timeout | null = null;

/** Looks at all folders once a second, or at as many as it may. */
function schedule(): void {
  timer ??= setTimeout(() => {
    timer = null;
    try {
      lookAt(Math.min(folders.size, LOOKS_PER_TICK));
    } finally {
      if (folders.size > 0) schedule();
    }
  }, LOOK_EVERY_MS);
}

function cancel(): void {
  if (timer !== null) clearTimeout(timer);
  timer = null;
}

function lookAt(count: number): void {
  for (let looks = 0; looks < count; looks++) {
    const [next] = folders;
    if (next === undefined) return;
    const [path, folder] = next;
    folders.delete(path);
    folders.set(path, folder);
    folder.look();
  }
}

const LOOK_EVERY_MS = 1000;
/** At about 0.1 ms each. */
const LOOKS_PER_TICK = 100;

/** A folder that is made again often gets the number of the old one. */
function identityOf(path: string): string | null {
  try {
    const { ino, birthtimeMs } = statSync(path);
    return `${ino} ${birthtimeMs}`;
  } catch {
    return null;
  }
}
