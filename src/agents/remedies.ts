import type { ErrorKind } from '../loop/event.ts';
import type { Agent, AgentCall } from './agent.ts';
import { ACCESS_DENIED } from './trouble.ts';

/** What the user can do about an error of this kind in a run with this command line; null if there is no advice. */
export function remedyFor(
  agent: Agent,
  kind: ErrorKind,
  argv: readonly string[],
  { message = '', isMidRun = false }: { readonly message?: string; readonly isMidRun?: boolean } = {},
): string | null {
  // The error of an unknown command is its own text, and the advice may not fit.
  if (agent.call === null) return agent.remedies[kind] ?? null;
  if (kind === 'permission-denied') return permissionRemedy(agent.call, agent.name, argv);
  if (message.startsWith(ACCESS_DENIED)) return NO_PERMISSION;
  // The prompt was accepted; the agent has filled the rest of the context itself.
  if (kind === 'request-refused' && isMidRun) return CONTEXT_IS_FULL;
  return agent.remedies[kind] ?? COMMON[kind] ?? null;
}

const CONTEXT_IS_FULL =
  'the run filled the context of its model: ask for smaller steps per iteration, turn on automatic compaction in the settings of the agent, or choose a model with a larger context';

function permissionRemedy({ autonomous }: AgentCall, name: string, argv: readonly string[]): string {
  const missing = autonomous.filter((flag) => !argv.includes(flag));
  const [first = ''] = autonomous;
  return missing.includes(first)
    ? `allow it in the settings of ${name}, or add ${missing.join(' ')} to its flags: after --, or in agent.flags`
    : `it runs with ${first} already, so a rule in the settings of ${name} forbids it; change that rule`;
}

const NO_PERMISSION =
  'the account or key lacks permission; check its access to this model, or use another key';

/** The same for every known agent. */
const COMMON: Agent['remedies'] = {
  'out-of-credit': 'add credit to the account of this provider, or check its billing settings',
  blocked:
    'check the proxy settings (HTTPS_PROXY, NO_PROXY) and the firewall; logging in again does not help',
  'request-refused': 'shorten the prompt, or choose a model with a larger context',
};
