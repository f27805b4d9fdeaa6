import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Environment } from './process.ts';

const ignore = (): void => {};

/**
 * Runs a program in the foreground, on our terminal. Resolves to its exit code, or to null if it cannot be started. `input` takes
 * the place of our stdin. `show` gets its stdout, if it must not go to ours as it is.
 */
export function runAttached(
  argv: readonly [string, ...string[]],
  { input, ...options }: { readonly cwd: string; readonly env: Environment; readonly input?: string },
  show: ((chunk: Buffer) => void) | null = null,
): Promise<number | null> {
  const [program, ...args] = argv;
  // Ctrl-C is meant for the program in the foreground.
  process.on('SIGINT', ignore).on('SIGQUIT', ignore);
  return new Promise<number | null>((resolve) => {
    const child = spawn(program, args, {
      ...options,
      stdio: [input === undefined ? 'inherit' : 'pipe', show === null ? 'inherit' : 'pipe', 'inherit'],
    });
    if (show !== null) child.stdout?.on('data', show);
    // A pager may end before it has read all of it.
    child.stdin?.on('error', ignore).end(input);
    child.once('error', () => resolve(null));
    // `close` follows the end of its stdout.
    child.once('close', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
  }).finally(() => process.off('SIGINT', ignore).off('SIGQUIT', ignore));
}
