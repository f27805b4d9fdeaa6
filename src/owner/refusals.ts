import { GitError } from '../git/git-error.ts';
import { JournalError } from '../journal/journal.ts';
import { cannotWrite } from '../workspace/workspace-folder.ts';
import type { LoopKey } from '../home/home.ts';
import { UserError, systemErrorText } from '../user-error.ts';

/** An error of git, of the journal or of the file system as a message for the user; any other error as it is. */
export function asUserError(error: unknown, path: string): unknown {
  if (error instanceof GitError) return new UserError(`cannot commit: ${error.message}`, 2, { cause: error });
  if (error instanceof JournalError)
    return new UserError(error.message, error.reason === 'disk-full' ? 3 : 2, { cause: error });
  return cannotWrite(error, path);
}

/** An unfinished loop has the name of a new one. */
export class NameTaken extends UserError {}

/** Neither the command, nor an option or a setting names an agent. */
export class NoAgentSelected extends UserError {}

/** The request was sent before, and this is its loop. */
export class AlreadyStarted extends UserError {
  readonly loop: LoopKey;

  constructor(loop: LoopKey) {
    super(`this request has already started the loop "${loop.name}"`);
    this.loop = loop;
  }
}

/** Another process owns the loop. */
export class AlreadyOwned extends NameTaken {
  constructor(name: string, pid: number | null) {
    const owner = pid === null ? 'another process' : `process ${pid}`;
    super(
      `the loop "${name}" is already running (${owner}); show it with: ralph status ${name}, end it with: ralph stop ${name}`,
    );
  }
}

/** Turns an error of the operating system into the message with which the loop ends. `place` is for errors without a path. */
export async function explained<T>(place: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    throw new Error(systemErrorText(error, 'path' in error ? null : place), { cause: error });
  }
}
