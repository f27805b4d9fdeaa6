/** A git command failed; the message is for people. */
export class GitError extends Error {}

/** There is no such program: git is not installed, or not in PATH. */
export class GitMissing extends GitError {
  constructor(program: string) {
    super(program === 'git' ? 'git is not installed (not found in PATH)' : `${program} is not installed`);
  }
}

/** A restore that failed: before it changed anything (`isUntouched`), or in the middle. */
export class RestoreError extends GitError {
  readonly isUntouched: boolean;

  constructor(message: string, isUntouched: boolean) {
    super(message);
    this.isUntouched = isUntouched;
  }
}
