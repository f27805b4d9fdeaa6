import type { Agent } from '../agents/agent.ts';
import { agentNamed } from '../agents/agents.ts';
import { ALL_AGENTS } from '../agents/all-agents.ts';
import { accountKey } from '../store/shared-limits.ts';
import type { Spec } from '../store/spec.ts';
import { runEnvironment } from '../store/run-environment.ts';

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
export function accountOf(spec: Spec, env: Readonly<Record<string, string>>): string {
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
