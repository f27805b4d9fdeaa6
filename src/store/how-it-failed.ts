/** How a check failed: `Timeout`, `exit 1`, `exit 127: command not found`. */
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
  const meaning = code === null ? undefined : SHELL_CODES.get(code);
  return `exit ${code ?? 'unknown'}${meaning === undefined ? '' : `: ${meaning}`}`;
}

/** Exit codes with which the shell says that it could not run the command. */
const SHELL_CODES: ReadonlyMap<number, string> = new Map([
  [126, 'not executable'],
  [127, 'command not found'],
]);
