import type { Agent } from './agent.ts';
import { scripted } from './scripted.ts';
import { amp } from './amp.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { copilot } from './copilot.ts';
import { custom } from './custom.ts';
import { gemini } from './gemini.ts';
import { opencode } from './opencode.ts';
import { qwen } from './qwen.ts';

/** The adapter with this name; throws if there is none. */
export function agentNamed(name: string): Agent {
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

export const ALL_AGENTS: readonly Agent[] = [
  claude,
  codex,
  opencode,
  gemini,
  qwen,
  copilot,
  amp,
  custom,
  scripted,
];
