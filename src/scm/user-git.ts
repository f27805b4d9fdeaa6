import { nonInteractiveEnv, type Repository } from '../git/git.ts';
import type { Policy } from '../loop/policy.ts';
import { enclosing } from '../sandbox/git-view.ts';
import { scmProgram } from './program.ts';

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
  env: Readonly<Record<string, string>>,
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
