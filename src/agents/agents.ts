import type { Agent } from './agent.ts';
import { ALL_AGENTS } from './all-agents.ts';
import { scripted } from './scripted.ts';

/** The adapter with this name; throws if there is none. */
export function agentNamed(name: string): Agent {
  // The agent of every loop in a session.
  if (name === scripted.name) return scripted;
  const agent = ALL_AGENTS.find((one) => one.name === name);
  if (agent === undefined)
    throw new Error(`unknown agent: ${name}; known agents: ${ALL_AGENTS.map((one) => one.name).join(', ')}`);
  return agent;
}

/** The adapter for a program, by its name; `custom` for unknown programs. */
export function agentFor(program: string): Agent {
  const base = (program.split('/').at(-1) ?? '').toLowerCase().replace(/\.exe$/, '');
  return ALL_AGENTS.find(({ call }) => call?.command === base) ?? agentNamed('custom');
}
