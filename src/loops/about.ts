/** What a list and a status say about a loop beside how it stands: its task, its agent and its branch. */
import { basename } from 'node:path';
import type { LoopReading } from '../home/read-loop.ts';
import type { PromptSource } from '../home/spec.ts';
import { hideKeys } from '../loop/secrets.ts';

export interface About {
  /** The first line of the task, or the file that has it; null if it cannot be read. */
  readonly task: string | null;
  readonly agent: AgentFacts | null;
  /** The branch that it works on, as far as it is known. */
  readonly branch: string | null;
}

export interface AgentFacts {
  /** Its adapter, or for any other agent its program. */
  readonly name: string;
  readonly model: string | null;
}

export function aboutOf(loop: LoopReading): About {
  const { spec, report } = loop;
  if (spec.created === '') return { task: null, agent: null, branch: null };
  const branch = spec.worktree?.branch ?? report.branches.at(-1) ?? report.startBranch;
  return { task: taskOf(spec.prompt), agent: agentOf(loop), branch };
}

function taskOf(prompt: PromptSource): string {
  if ('file' in prompt) return prompt.file;
  const text = prompt.text.trim() === '' && 'spec' in prompt ? prompt.spec : prompt.text;
  const line = text.split('\n').find((one) => one.trim() !== '') ?? '';
  return hideKeys(line.trim()).slice(0, MOST_TASK_CHARS);
}

const MOST_TASK_CHARS = 200;

export function agentOf({ spec: { agent } }: LoopReading): AgentFacts {
  const [program = ''] = agent.argv;
  return { name: agent.kind === 'custom' ? basename(program) : agent.kind, model: agent.model ?? null };
}
