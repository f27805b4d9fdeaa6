/**
 * The environment of a loop's agent and checks: the one that the loop was started with, kept in the user's state folder
 * until the loop ends.
 *
 * 1. An owner in the background uses only the kept environment, never its own.
 * 2. If it is no longer kept, a person who resumes the loop gives it their own environment, and a note says so.
 */
import { withoutGitLocation } from '../git/location.ts';
import { saveEnvironment, savedEnvironment } from '../home/saved-environment.ts';
import { UMASK, runEnvironment } from '../home/run-environment.ts';
import { withoutNotices } from './notice-targets.ts';
import { noticeVariables } from '../settings/notify.ts';
import { REDACTED } from '../loop/secrets.ts';
import type { Spec } from '../home/spec.ts';
import { stateFolder } from '../home/state-folder.ts';
import { UserError } from '../user-error.ts';
import type { Agent } from '../agents/agent.ts';
import { ALL_AGENTS, agentNamed } from '../agents/agents.ts';
import { accountKey } from '../home/shared-limits.ts';
import type { Environment } from '../process/process.ts';

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
  const known = savedEnvironment(spec.id);
  if (known === null && owner.by === 'background') throw notInBackground(name);
  const given = owner.by === 'person' ? (owner.given ?? {}) : {};
  const own = owner.by === 'person' ? owner.env : {};
  const hidden = noticeVariables(spec.notices ?? []);
  const start = withoutNotices({ ...(known?.env ?? own), ...given }, hidden);
  const env: Environment = { ...start, ...umaskFor(known?.umask, owner) };
  const missing = (agent.given ?? []).filter((one) => env[one] === undefined && !hidden.includes(one));
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
  saveEnvironment(id, { env: rest, argv: agent.argv, umask });
}

/** The environment of an agent: the one of its run and what its adapter sets, without the variables that it must not see. */
export function agentEnvironment(
  run: Parameters<typeof runEnvironment>[0],
  agent: Agent,
): Record<string, string> {
  const { spec, policy } = run;
  const env: Record<string, string> = runEnvironment(run);
  // `--env` overrides the adapter, and the adapter overrides the inherited environment.
  for (const [name, value] of Object.entries(spec.agent.env ?? {})) {
    if (spec.agent.given?.includes(name) !== true) env[name] = value;
  }
  // Set if Ralph itself was started by claude; the agent would take that session for its own.
  delete env['CLAUDECODE'];
  const foreign = policy.keys === 'own' && agent.call !== null ? foreignKeys(agent) : [];
  for (const name of [...foreign, ...(spec.agent.drop ?? [])]) delete env[name];
  return env;
}

/** The API keys of all other agents. */
function foreignKeys(agent: Agent): readonly string[] {
  const own = agent.call?.credentials ?? [];
  const all = [...ALL_AGENTS.flatMap(({ call }) => call?.credentials ?? []), ...OTHER_KEYS];
  // The agent needs the token of the code host to push.
  return all.filter((name) => !own.includes(name) && !/^(?:GH|GITHUB)_TOKEN$/.test(name));
}

const OTHER_KEYS = ['PERPLEXITY_API_KEY', 'XAI_API_KEY', 'OPENAI_API_KEY', 'OPENAI_ORG_ID'];

/** The account that pays for a loop's agent: the same program with the same credentials, settings and server. */
export function accountOf(spec: Spec, env: Environment): string {
  const { kind, argv, model = '', drop = [] } = spec.agent;
  const { call } = agentNamed(kind);
  // The account of another program's session is unknown, and two sessions in one folder may have different ones.
  if (spec.place === 'session') return accountKey(kind, [spec.id]);
  // The account of a custom command is unknown: only loops with exactly the same command share limits.
  if (call === null) return accountKey(kind, [...argv, spec.workspace]);
  const visible = (name: string): string => (drop.includes(name) ? '' : (env[name] ?? ''));
  const provider = model.includes('/') ? (model.split('/')[0] ?? '') : '';
  return accountKey(kind, [
    provider,
    visible('HOME'),
    ...[...call.credentials, ...call.account].map(visible),
  ]);
}
