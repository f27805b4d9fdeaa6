import type { Agent } from '../agents/agent.ts';
import { AGENTS, agentNamed } from '../agents/agents.ts';
import { accountKey } from '../store/shared-limits.ts';
import type { Spec } from '../store/spec.ts';
import { runEnvironment } from '../store/run-environment.ts';

/** What an agent finds in its environment: that of its run, what its adapter sets, and not what it may not see. */
export function agentEnvironment(
  run: Parameters<typeof runEnvironment>[0],
  agent: Agent,
): Record<string, string> {
  const { spec, policy } = run;
  const env: Record<string, string> = runEnvironment(run);
  // What the user has given comes before what the adapter sets, and that before whatever lies about.
  for (const [name, value] of Object.entries(spec.agent.env ?? {})) {
    if (spec.agent.given?.includes(name) !== true) env[name] = value;
  }
  // An agent in which ralph was started would take this for its own session.
  delete env['CLAUDECODE'];
  const foreign = policy.keys === 'own' && agent.call !== null ? foreignKeys(agent) : [];
  for (const name of [...foreign, ...(spec.agent.drop ?? [])]) delete env[name];
  return env;
}

/** The keys of everybody but this agent. */
function foreignKeys(agent: Agent): readonly string[] {
  const own = agent.call?.credentials ?? [];
  const all = [...AGENTS.flatMap(({ call }) => call?.credentials ?? []), ...OTHER_KEYS];
  // A token for the code host is no key of a model: without it nobody could push.
  return all.filter((name) => !own.includes(name) && !/^(?:GH|GITHUB)_TOKEN$/.test(name));
}

const OTHER_KEYS = ['PERPLEXITY_API_KEY', 'XAI_API_KEY', 'OPENAI_API_KEY', 'OPENAI_ORG_ID'];

/** Whoever pays for a loop's agent: the same program with the same credentials, settings and server. */
export function accountOf(spec: Spec, env: Readonly<Record<string, string>>): string {
  const { kind, argv, model = '', drop = [] } = spec.agent;
  const { call } = agentNamed(kind);
  // Nobody knows whose a command is: only another loop with the very same one shares its limits.
  if (call === null) return accountKey(kind, [...argv, spec.workspace]);
  const seen = (name: string): string => (drop.includes(name) ? '' : (env[name] ?? ''));
  const provider = model.includes('/') ? (model.split('/')[0] ?? '') : '';
  return accountKey(kind, [provider, seen('HOME'), ...[...call.credentials, ...call.account].map(seen)]);
}
