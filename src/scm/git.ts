import { GitError, nonInteractiveEnv, type Repository } from '../git/git.ts';
import { withoutGitLocation } from '../git/without-git-location.ts';
import { enclosing } from '../sandbox/git-view.ts';
import { exec } from '../process/exec.ts';
import { UserError } from '../user-error.ts';
import { startersEnvironment } from '../store/run-environment.ts';

/** Runs git and returns its stdout; throws a `UserError` if git fails or is not installed. */
export async function runGit(cwd: string, args: readonly string[]): Promise<string> {
  const result = await exec(['git', ...args], { cwd, env: startersEnvironment(process.env) });
  if (result === null) throw new UserError('git is required but not installed');
  if (result.code !== 0) throw new UserError(`git ${args.join(' ')} failed: ${result.stderr.trim()}`);
  return result.stdout.toString('utf8');
}

/** Turns a `GitError` into a `UserError`: the user can fix what git refuses. */
export async function withGitErrorsForUser<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GitError) throw new UserError(error.message, 2, { cause: error });
    throw error;
  }
}

/** Git in a workspace or worktree, for commands that Ralph runs itself. */
export function gitIn(folder: string, env: Readonly<Record<string, string>>): Repository {
  return {
    command: ['git'],
    folder,
    env: nonInteractiveEnv(withoutGitLocation(env)),
    enclose: enclosing(null),
  };
}
