import { signalText } from '../loop/exit-code.ts';

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
