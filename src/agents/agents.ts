import type { Agent } from './agent.ts';
import { custom } from './custom.ts';
import { scripted } from './scripted.ts';

const AGENTS: Readonly<Record<string, Agent>> = { custom, scripted };

export const AGENT_NAMES: readonly string[] = Object.keys(AGENTS);

/** The adapter of this name. */
export function agentNamed(name: string): Agent {
  const agent = AGENTS[name];
  if (agent === undefined) throw new Error(`no agent adapter is called ${name}`);
  return agent;
}
