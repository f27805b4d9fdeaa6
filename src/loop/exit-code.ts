/**
 * An exit code as people read it: `1`, `137 (SIGKILL, …)`. A command that a signal killed is reported with 128 and the number
 * of the signal, but a program may also exit with such a code by itself.
 */
export function exitCodeText(code: number | null): string {
  const signal = signalText(code);
  return `${code ?? 'unknown'}${signal === null ? '' : ` (${signal})`}`;
}

/** `SIGTERM`; null for a code that does not stand for a signal. */
export function signalText(code: number | null): string | null {
  const signal = code === null ? undefined : SIGNALS.get(code - 128);
  return signal === 'SIGKILL' ? 'SIGKILL, often out of memory' : (signal ?? null);
}

/** Those with the same number on Linux and macOS. */
const SIGNALS: ReadonlyMap<number, string> = new Map([
  [1, 'SIGHUP'],
  [2, 'SIGINT'],
  [3, 'SIGQUIT'],
  [4, 'SIGILL'],
  [6, 'SIGABRT'],
  [8, 'SIGFPE'],
  [9, 'SIGKILL'],
  [11, 'SIGSEGV'],
  [13, 'SIGPIPE'],
  [15, 'SIGTERM'],
]);

/** How a check failed: `Timeout`, `exit 1`, `exit 127: command not found`, `exit 143: SIGTERM`. */
export function howItFailed({
  code,
  timedOut,
  flooded,
}: {
  readonly code: number | null;
  readonly timedOut: boolean;
  readonly flooded?: boolean;
}): string {
  if (timedOut) return 'Timeout';
  if (flooded === true) return 'output limit exceeded';
  const meaning = SHELL_CODES.get(code ?? 0) ?? signalText(code);
  return `exit ${code ?? 'unknown'}${meaning === null ? '' : `: ${meaning}`}`;
}

/** Exit codes with which the shell says that it could not run the command. */
const SHELL_CODES: ReadonlyMap<number, string> = new Map([
  [126, 'not executable'],
  [127, 'command not found'],
]);
