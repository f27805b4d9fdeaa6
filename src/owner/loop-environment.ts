/**
 * The environment of a loop's agent and checks: the one that the loop was started with, kept in the user's state folder
 * until the loop ends.
 *
 * 1. An owner in the background uses only the kept environment, never its own.
 * 2. If it is no longer kept, a person who resumes the loop gives it their own environment, and a note says so.
 */
import { withoutGitLocation } from '../git/without-git-location.ts';
import { keep, kept } from '../store/kept-environment.ts';
import { UMASK } from '../store/run-environment.ts';
import { REDACTED } from '../loop/secrets.ts';
import type { Spec } from '../store/spec.ts';
import { stateFolder } from '../store/state-folder.ts';
import { UserError } from '../user-error.ts';

/** Who takes over a loop: a person with an environment, or a process in the background that has none to give. */
export type NewOwner =
  | { readonly by: 'person'; readonly env: Environment; readonly given?: Environment }
  | { readonly by: 'background' };

export interface LoopEnvironment {
  readonly env: Environment;
  /** The agent's command as it was given, secrets included. */
  readonly argv: readonly string[];
  /** What a person should know about it. */
  readonly notes: readonly string[];
}

/** The environment for the next owner of a loop; refuses where something is missing that the agent needs. */
export function environmentFor(spec: Spec, owner: NewOwner): LoopEnvironment {
  const { name, agent, worktree } = spec;
  const known = kept(spec.id);
  if (known === null && owner.by === 'background') throw notInBackground(name);
  const given = owner.by === 'person' ? (owner.given ?? {}) : {};
  const own = owner.by === 'person' ? owner.env : {};
  const env = { ...(known?.env ?? own), ...given, ...umaskFor(known?.umask, owner) };
  const missing = (agent.given ?? []).filter((variable) => env[variable] === undefined);
  if (missing.length > 0) {
    const flags = missing.map((variable) => `--env ${variable}=…`).join(' ');
    throw new UserError(
      `"${name}" was started with --env ${missing.join(', ')}, which is not kept after its end; pass it again: ralph resume ${name} ${flags}`,
    );
  }
  if (known === null && agent.argv.some((argument) => argument.includes(REDACTED))) {
    throw new UserError(
      `the command of "${name}" contained a secret, which is not kept after its end; start it again with: ralph run --name ${name}`,
    );
  }
  return {
    env: worktree === undefined ? env : withoutGitLocation(env),
    argv: known?.argv ?? agent.argv,
    notes:
      known === null
        ? [
            `using the environment of this shell: the one that "${name}" was started with is deleted when a loop ends`,
          ]
        : [],
  };
}

/** An owner in the background has no other environment to give to the agent. */
export function notInBackground(name: string, exitCode: number = 2): UserError {
  return new UserError(
    `"${name}" cannot run in the background: the environment that it was started with is not in ${stateFolder()}; continue it with: ralph resume ${name}`,
    exitCode,
  );
}

/** A background process has its own umask, so the agent's has to be set explicitly. */
function umaskFor(umask: number | undefined, { by }: NewOwner): Environment {
  return by === 'person' || umask === undefined ? {} : { [UMASK]: umask.toString(8).padStart(4, '0') };
}

/** Keeps the environment of a loop for later owners. */
export function keepEnvironment({ id, agent }: Spec, env: Environment): void {
  const { [UMASK]: stated, ...rest } = env;
  const umask = stated === undefined ? process.umask() : Number.parseInt(stated, 8);
  keep(id, { env: rest, argv: agent.argv, umask });
}

type Environment = Readonly<Record<string, string>>;
