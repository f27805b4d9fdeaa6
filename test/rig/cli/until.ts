import { watch } from 'node:fs';

const LONGEST_MS = 20_000;
const SAFETY_LOOK_MS = 50;

/**
 * Waits until a look finds something. The kernel says when to look, if a folder is named; a safety look covers what it
 * does not tell. What is waited for in vain is named in the error, with what there was to see.
 */
export function until<Found>(what: string, look: () => Found | null, options: Waiting = {}): Promise<Found> {
  const { folder = null, seen = () => '' } = options;
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      clearInterval(timer);
      clearTimeout(deadline);
      watcher?.close();
      settle();
    };
    const check = (): void => {
      try {
        const found = look();
        if (found !== null) finish(() => resolve(found));
      } catch (error) {
        finish(() => reject(error instanceof Error ? error : new Error(String(error))));
      }
    };
    const watcher = folder === null ? null : watchOrNull(folder, check);
    const timer = setInterval(check, SAFETY_LOOK_MS);
    const deadline = setTimeout(() => {
      finish(() => reject(new Error(`waited in vain for ${what}\n${seen()}`)));
    }, LONGEST_MS);
    check();
  });
}

interface Waiting {
  readonly folder?: string;
  /** What to tell when it was in vain. */
  readonly seen?: () => string;
}

function watchOrNull(folder: string, check: () => void): { close: () => void } | null {
  try {
    return watch(folder, check).on('error', () => {});
  } catch {
    return null;
  }
}
