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
