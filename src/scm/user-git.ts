import { nonInteractiveEnv, type Repository } from '../git/git.ts';
import type { Policy } from '../loop/policy.ts';
import { scmProgram } from './program.ts';

/** The configured SCM command if that is git, otherwise `git`. */
export function userGit(
  { commit, checkpointMaxFile }: Policy,
  folder: string,
  env: Readonly<Record<string, string>>,
): Repository {
  const program = commit === null ? null : scmProgram(commit, folder, env);
  return {
    command: program !== null && 'isGit' in program && program.isGit ? program.command : ['git'],
    folder,
    env: nonInteractiveEnv(env),
    maxFileBytes: checkpointMaxFile,
  };
}
