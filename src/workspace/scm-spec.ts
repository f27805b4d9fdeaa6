import type { Agent } from '../agents/agent.ts';
import { GitError, nonInteractiveEnv, type Repository } from '../git/git.ts';
import { problemWith } from '../git/state.ts';
import type { Policy } from '../loop/policy.ts';
import { refuseReportedFullDisk } from '../process/full-disk.ts';
import { checkMarker, runEnvironment, type StartedLoop } from '../home/run-environment.ts';
import { treeOf } from '../home/spec.ts';
import { enclosing } from '../sandbox/git-view.ts';
import { type ScmProgram, recordLimits } from './user-git.ts';

/** What the SCM tasks need to know about their loop. */
export interface ScmSpec extends StartedLoop {
  readonly agent: Agent;
  /** The current policy. */
  readonly policy: () => Policy;
  readonly say: (line: string) => void;
}

export function taskEnvironment(
  { spec, folder, env, policy }: ScmSpec,
  iteration: number,
): Record<string, string> {
  return nonInteractiveEnv(runEnvironment({ spec, folder, env, policy: policy(), run: `${iteration}.1` }));
}

/** Git in the loop's tree. The marker lets a later owner find and end its processes. */
export function taskRepository(loop: ScmSpec, { command }: ScmProgram, iteration: number): Repository {
  const marker = checkMarker(loop.spec, `commit:${iteration}`);
  const env = { ...taskEnvironment(loop, iteration), [marker.name]: marker.value };
  const policy = loop.policy();
  return {
    command,
    folder: treeOf(loop.spec),
    env,
    say: loop.say,
    ...recordLimits(policy),
    enclose: enclosing(policy.sandbox),
  };
}

/**
 * Prefers a problem with the repository to the message of the command that failed because of it. A full disk is no problem of the
 * commit: its error is thrown, and ends the loop.
 */
export async function explainGitError(error: unknown, repository: Repository): Promise<string> {
  if (!(error instanceof GitError)) throw error;
  refuseReportedFullDisk(error.message, repository.folder);
  try {
    return (await problemWith(repository, { isNew: true })) ?? error.message;
  } catch {
    return error.message;
  }
}
