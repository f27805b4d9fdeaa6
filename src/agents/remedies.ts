import type { ErrorKind } from '../loop/event.ts';
import type { Agent } from './agent.ts';
import { permissionRemedy } from './call.ts';

/** What the user can do about an error of this kind in a run with this command line; null if there is no advice. */
export function remedyFor(agent: Agent, kind: ErrorKind, argv: readonly string[]): string | null {
  const { call, remedies } = agent;
  if (kind === 'permission-denied') return permissionRemedy(agent, argv) ?? null;
  // The error of an unknown command is its own text, and the advice may not fit.
  return remedies[kind] ?? (call === null ? null : (COMMON[kind] ?? null));
}

/** The same for every known agent. */
const COMMON: Agent['remedies'] = {
  'out-of-credit': 'add credit to the account of this provider, or check its billing settings',
  blocked:
    'check the proxy settings (HTTPS_PROXY, NO_PROXY) and the firewall; logging in again does not help',
  'request-refused': 'shorten the prompt, or choose a model with a larger context',
};
