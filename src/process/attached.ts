import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const ignore = (): void => {};

/** Runs a program in our place: the terminal, its keys and its pager are its own. Tells what it exits with; null if it is not there. */
export function runAttached(
  argv: readonly [string, ...string[]],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<number | null> {
  const [program, ...more] = argv;
  // Ctrl-C is for whoever has the terminal.
  process.on('SIGINT', ignore).on('SIGQUIT', ignore);
  return new Promise<number | null>((resolve) => {
    const child = spawn(program, more, { ...options, stdio: 'inherit' });
    child.once('error', () => resolve(null));
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
  }).finally(() => process.off('SIGINT', ignore).off('SIGQUIT', ignore));
}
