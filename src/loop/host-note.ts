import type { Host, Policy } from './policy.ts';

/** The warning shown at the start of a loop whose host does not exist yet; null where the host exists. */
export function hostNote({ preset, host }: Pick<Policy, 'preset' | 'host'>): string | null {
  const missing = MISSING_HOSTS[host];
  return missing === null
    ? null
    : `warning: preset "${preset}" runs its agent in ${missing}, which this version does not support yet; the agent runs as a plain process`;
}

/** What each host that does not exist yet is called; null for one that does. */
const MISSING_HOSTS: Readonly<Record<Host, string | null>> = {
  process: null,
  tmux: null,
  session: 'one continuing session',
};
