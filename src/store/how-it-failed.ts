/** How a check failed: `Timeout`, `exit 1`, `exit 127: command not found`. */
export function howItFailed(exit: number | null, timedOut: boolean): string {
  if (timedOut) return 'Timeout';
  const meaning = exit === null ? undefined : SHELL_CODES.get(exit);
  return `exit ${exit ?? 'unknown'}${meaning === undefined ? '' : `: ${meaning}`}`;
}

/** Exit codes with which the shell says that it could not run the command. */
const SHELL_CODES: ReadonlyMap<number, string> = new Map([
  [126, 'not executable'],
  [127, 'command not found'],
]);
