import { startersEnvironment } from '../store/run-environment.ts';
import { hideSecrets } from '../store/secrets.ts';
import { exitCodeFor, reasonOf, systemErrorText, UserError } from '../user-error.ts';
import { warn } from './print.ts';

/** Prints an error that the user can fix, and returns the exit code; throws any other error, which is a bug. */
export function explainError(error: unknown): number {
  if (error instanceof UserError) {
    warn(`ralph: error: ${hideSecrets(error.message, startersEnvironment(process.env))}\n`);
    return error.exitCode;
  }
  if (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    error.code.startsWith('E')
  ) {
    const path = 'path' in error && typeof error.path === 'string' ? `${error.path}: ` : '';
    const isStart = 'syscall' in error && String(error.syscall).startsWith('spawn');
    warn(`ralph: error: ${isStart ? systemErrorText(error, null) : `${path}${reasonOf(error)}`}\n`);
    return exitCodeFor(error);
  }
  throw error;
}
