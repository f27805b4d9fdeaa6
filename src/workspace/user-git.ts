import { nonInteractiveEnv, type Repository, GitError } from '../git/git.ts';
import type { Policy, CommitPolicy } from '../loop/policy.ts';
import { enclosing } from '../sandbox/git-view.ts';
import { basename } from 'node:path';
import { splitWords } from '../loop/words.ts';
import { findCommand } from '../process/command.ts';
import { withoutGitLocation } from '../git/location.ts';
import { exec } from '../process/exec.ts';
import { UserError } from '../user-error.ts';
import { startersEnvironment } from '../home/run-environment.ts';
import type { Environment } from '../process/process.ts';

/** What is left out of the records and commits of a loop. */
export function recordLimits({
  checkpointMaxFile,
  checkpointMaxTotal,
}: Policy): Pick<Repository, 'maxFileBytes' | 'maxTotalBytes'> {
  return { maxFileBytes: checkpointMaxFile, maxTotalBytes: checkpointMaxTotal };
}

/** The configured SCM command if that is git, otherwise `git`. */
export function userGit(
  policy: Policy,
  folder: string,
  env: Environment,
  say?: (line: string) => void,
): Repository {
  const { commit } = policy;
  const program = commit === null ? null : scmProgram(commit, folder, env);
  return {
    command: program !== null && 'isGit' in program && program.isGit ? program.command : ['git'],
    folder,
    env: nonInteractiveEnv(env),
    ...recordLimits(policy),
    say,
    enclose: enclosing(policy.sandbox),
  };
}

/** The SCM program with the user's own options. */
export interface ScmProgram {
  readonly command: readonly [string, ...string[]];
  readonly isGit: boolean;
}

/** Finds the program, or says why it cannot be run. */
export function scmProgram(
  { command }: CommitPolicy,
  workspace: string,
  env: Environment,
): ScmProgram | { readonly problem: string } {
  const [name = '', ...options] = splitWords(command) ?? [];
  const found = findCommand(name, env['PATH'] ?? '', workspace);
  if (found.found === 'nothing')
    return { problem: `SCM command not found: ${name} (looked in PATH from ${workspace})` };
  if (found.found === 'not-executable')
    return { problem: `SCM command is not executable: ${found.path} (make it executable with chmod +x)` };
  return { command: [found.path, ...options], isGit: basename(name) === 'git' };
}

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
export function gitIn(folder: string, env: Environment): Repository {
  return {
    command: ['git'],
    folder,
    env: nonInteractiveEnv(withoutGitLocation(env)),
    enclose: enclosing(null),
  };
}
