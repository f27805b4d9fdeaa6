/** The two ways in which tests wait. Both give up after a while, and say what they waited for. */
import { watch } from 'node:fs';

/** Real agents take longer: their tests set another time. */
const TIMEOUT_MS = Number(process.env['RALPH_TEST_PATIENCE_MS'] ?? 20_000);
const POLL_MS = 50;

/**
 * Waits until `look` finds something. With a folder it looks at every change there, and it polls in case a notification
 * is lost. The timeout error names what was expected and shows what was there.
 */
export function until<Found>(what: string, look: () => Found | null, options: Waiting = {}): Promise<Found> {
  const { folder = null, everyMs = POLL_MS, seen = () => '' } = options;
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
    const timer = setInterval(check, everyMs);
    const deadline = setTimeout(() => {
      finish(() => reject(timeoutError(what, seen)));
    }, TIMEOUT_MS);
    check();
  });
}

/** Waits for something that is announced: an event, an answer. */
export async function inTime<Result>(
  what: string,
  announced: Promise<Result>,
  seen: () => string = () => '',
): Promise<Result> {
  let deadline: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    deadline = setTimeout(() => reject(timeoutError(what, seen)), TIMEOUT_MS);
  });
  try {
    return await Promise.race([announced, late]);
  } finally {
    clearTimeout(deadline);
  }
}

interface Waiting {
  readonly folder?: string;
  /** How often it looks, by default every 50 ms. */
  readonly everyMs?: number;
  /** What to show in the timeout error. */
  readonly seen?: () => string;
}

function timeoutError(what: string, seen: () => string): Error {
  return new Error(`timed out waiting for ${what}\n${seen()}`);
}

function watchOrNull(folder: string, check: () => void): { close: () => void } | null {
  try {
    return watch(folder, check).on('error', () => {});
  } catch {
    return null;
  }
}
