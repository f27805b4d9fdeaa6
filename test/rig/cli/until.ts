import { watch } from 'node:fs';

const TIMEOUT_MS = 20_000;
const POLL_MS = 50;

/**
 * Waits until `look` finds something. With a folder it looks at every change there, and it polls in case a notification
 * is lost. The timeout error names what was expected and shows what was there.
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
    const timer = setInterval(check, POLL_MS);
    const deadline = setTimeout(() => {
      finish(() => reject(new Error(`timed out waiting for ${what}\n${seen()}`)));
    }, TIMEOUT_MS);
    check();
  });
}

interface Waiting {
  readonly folder?: string;
  /** What to show in the timeout error. */
  readonly seen?: () => string;
}

function watchOrNull(folder: string, check: () => void): { close: () => void } | null {
  try {
    return watch(folder, check).on('error', () => {});
  } catch {
    return null;
  }
}
