import { GitError } from './git.ts';

/** A restore that failed: before it changed anything (`isUntouched`), or in the middle. */
export class RestoreError extends GitError {
  readonly isUntouched: boolean;

  constructor(message: string, isUntouched: boolean) {
    super(message);
    this.isUntouched = isUntouched;
  }
}
