import { withoutOwnSecrets } from '../loops/here.ts';
import { exitCodeFor, pathOf, reasonOf, systemErrorText, UserError } from '../user-error.ts';
import { warn } from './print.ts';

/** Prints an error that the user can fix, and returns the exit code; throws any other error, which is a bug. */
export function explainError(error: unknown): number {
  const { message, exitCode } = explanationOf(error);
  warn(`ralph: error: ${message}\n`);
  return exitCode;
}

/** What to tell the user about an error that the user can fix; throws any other error, which is a bug. */
export function explanationOf(error: unknown): { readonly message: string; readonly exitCode: number } {
  if (error instanceof UserError)
    return { message: withoutOwnSecrets(error.message), exitCode: error.exitCode };
  if (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    error.code.startsWith('E')
  ) {
    const path = pathOf(error);
    const isStart = 'syscall' in error && String(error.syscall).startsWith('spawn');
    const message = isStart
      ? systemErrorText(error, null)
      : `${path === null ? '' : `${path}: `}${reasonOf(error)}`;
    return { message, exitCode: exitCodeFor(error) };
  }
  throw error;
}
