/** What the commands of Ralph tell the person, in every host program. */
import { counted } from '../loop/counted.ts';
import { systemErrorText, UserError } from '../user-error.ts';
import { errorText } from './log.ts';
import type { RalphLoopState } from './session-file.ts';
import type { StartedSession } from './session.ts';

export function startedText(
  { state, checks, notes }: Pick<StartedSession, 'state' | 'checks' | 'notes'>,
  /** How a command is typed: `/` or `$` before its name. */
  sign: string,
): string {
  const { maxIterations, completionPromise } = state;
  const limit = `at most ${counted(maxIterations, 'iteration')}`;
  const done = `done at <promise>${completionPromise}</promise>${condition(checks.length)}`;
  const commands = `${sign}ralph-status shows it, ${sign}cancel-ralph ends it`;
  return [`Ralph loop started: ${limit}, ${done}. ${commands}`, ...notes].join('\n');
}

function condition(checks: number): string {
  if (checks === 0) return ' (no checks)';
  return checks === 1 ? ' if the check passes' : ` if the ${checks} checks pass`;
}

export function notStartedText(why: string): string {
  return `Ralph did not start a loop: ${why}`;
}

export function cancelledText({ iteration }: RalphLoopState): string {
  return `Ralph loop cancelled at iteration ${iteration}.`;
}

export const NO_LOOP_TEXT = 'No Ralph loop is running in this session.';

/** An error as a message; an unexpected one says so. */
export function failureText(error: unknown): string {
  if (error instanceof UserError) return error.message;
  if (error instanceof Error && 'syscall' in error) return systemErrorText(error, null);
  return `internal error: ${errorText(error)}`.slice(0, 500);
}
