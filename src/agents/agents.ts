import type { Agent } from './agent.ts';
import { amp } from './amp.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { copilot } from './copilot.ts';
import { custom } from './custom.ts';
import { gemini } from './gemini.ts';
import { opencode } from './opencode.ts';
import { qwen } from './qwen.ts';
import { scripted } from './scripted.ts';

export const AGENTS: readonly Agent[] = [
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

/** The adapter of this name. */
export function agentNamed(name: string): Agent {
  const agent = AGENTS.find((one) => one.name === name);
  if (agent === undefined) throw new Error(`no agent adapter is called ${name}`);
  return agent;
}

/** The adapter for a command, by the name of its program; `custom` for any that none is made for. */
export function agentFor(program: string): Agent {
  const base = (program.split('/').at(-1) ?? '').toLowerCase().replace(/\.exe$/, '');
  return AGENTS.find(({ call }) => call?.command === base) ?? custom;
}
