import type { Agent, AgentEvent, RunFacts, Usage } from './agent.ts';
import { jsonLines, type Protocol } from './json-lines.ts';
import { count, isRecord, number, record, text, textOrNull, type Json } from './json.ts';
import { summarize, todosIn } from './tool-input.ts';
import { failedResult, readTrouble } from './trouble.ts';

/** Between its words there is much else in plain text. */
const ANSWER = 'answer.txt';

/** Codex. */
export const codex: Agent = {
  name: 'codex',
  tells: 'tokens',
  call: {
    command: 'codex',
    install: 'npm install -g @openai/codex',
    triedVersion: '0.166.0',
    autonomous: ['--dangerously-bypass-approvals-and-sandbox', '--skip-git-repo-check'],
    env: () => ({}),
    documented: { flags: ['--full-auto'], promptVia: 'file' },
    model: (model) => ['--model', model],
    own: { commands: ['exec', 'e'], flags: ['--json', '-'], format: null },
    promptVia: 'stdin',
    args: ({ output, flags, prompt, folder }) => [
      'e',
      ...(output === 'stream' ? ['--json'] : []),
      ...flags,
      ...(output === 'stream' ? [] : ['-o', `${folder}/${ANSWER}`]),
      prompt ?? '-',
    ],
    answerFile: ANSWER,
    credentials: ['CODEX_API_KEY', 'OPENAI_API_KEY'],
    account: ['CODEX_HOME', 'OPENAI_BASE_URL'],
  },
  remedies: {
    authentication: 'log in with: codex login, or set CODEX_API_KEY',
    'unknown-model': 'choose another with --model',
  },
  read: (run) => jsonLines(codexProtocol(run)),
};

function codexProtocol({ startedAt }: RunFacts): Protocol {
  let session: string | null = null;
  let answer: string | null = null;

  /** Neither an `error` event nor an `error` item ends anything: the CLI goes on trying until `turn.failed`. */
  const complaint = (message: string): AgentEvent => {
    const [, attempt, most, reason] = /^Reconnecting\.{3} (\d+)\/(\d+)(?: \((.*)\))?/s.exec(message) ?? [];
    if (attempt === undefined) return { type: 'progress', text: message, usage: null, session };
    const { error } = readTrouble({ message: reason ?? message }, startedAt);
    return { type: 'retry', attempt: Number(attempt), most: Number(most), waitMs: null, error };
  };

  const item = (phase: string, one: Json): readonly AgentEvent[] | null => {
    const id = text(one['id']);
    switch (one['type']) {
      case 'agent_message':
        if (phase !== 'item.completed' || typeof one['text'] !== 'string') return [];
        answer = one['text'];
        return [{ type: 'text', text: answer, message: id }];
      case 'reasoning':
        return phase === 'item.completed' ? [{ type: 'thought', text: text(one['text']) }] : [];
      case 'todo_list':
        return phase === 'item.completed' ? [] : [{ type: 'todo', items: todosIn(one) }];
      case 'error':
        return phase === 'item.completed' ? [complaint(text(one['message']))] : [];
      case 'command_execution':
      case 'file_change':
      case 'mcp_tool_call':
      case 'web_search':
        return tool(phase, id, one);
      default:
        return null;
    }
  };

  return {
    take(event) {
      const phase = text(event['type']);
      switch (phase) {
        case 'thread.started':
          session = textOrNull(event['thread_id']) ?? session;
          return [{ type: 'progress', text: `thread: ${session ?? 'unknown'}`, usage: null, session }];
        case 'turn.started':
          return [];
        case 'item.started':
        case 'item.updated':
        case 'item.completed':
          return item(phase, record(event['item']));
        case 'error':
          return [complaint(text(event['message']))];
        case 'turn.completed':
          return [
            {
              type: 'result',
              ok: true,
              text: answer,
              usage: isRecord(event['usage']) ? usageOf(event['usage']) : null,
              session,
              error: null,
            },
          ];
        case 'turn.failed': {
          const trouble = readTrouble({ message: text(record(event['error'])['message']) }, startedAt);
          return failedResult(trouble, { usage: null, session });
        }
        default:
          return null;
      }
    },
  };
}

function tool(phase: string, id: string, one: Json): readonly AgentEvent[] {
  const name = NAMES[text(one['type'])] ?? textOrNull(one['tool']) ?? 'tool';
  if (phase === 'item.started') {
    const command = insideShell(text(one['command']));
    return [{ type: 'tool.start', id, name, input: summarize(name, command === '' ? one : { command }) }];
  }
  if (phase !== 'item.completed') return [];
  const code = number(one['exit_code']);
  const output = text(one['aggregated_output']);
  const failed = one['status'] === 'failed' || (code !== null && code !== 0);
  return [
    {
      type: 'tool.end',
      id,
      ok: !failed,
      output: failed && code !== null ? `exit code ${code}: ${output}` : output,
    },
  ];
}

/** The command without the shell that it is given to, as it was before it was quoted. */
function insideShell(command: string): string {
  const [, quoted] = /^(?:\S*\/)?(?:ba|z|da)?sh -l?c (.+)$/s.exec(command) ?? [];
  if (quoted === undefined) return command;
  const [, single] = /^'([^']*)'$/s.exec(quoted) ?? [];
  const [, double] = /^"((?:[^"\\]|\\.)*)"$/s.exec(quoted) ?? [];
  return single ?? double?.replaceAll(/\\(["\\$`\n])/g, '$1') ?? quoted;
}

const NAMES: Readonly<Record<string, string>> = {
  command_execution: 'Bash',
  file_change: 'Edit',
  web_search: 'WebSearch',
};

/** Counted over the whole session; what was read from the cache is a part of the input. */
function usageOf(usage: Json): Usage {
  const cacheRead = count(usage['cached_input_tokens']);
  const cacheWrite = count(usage['cache_write_input_tokens']);
  const tokens = {
    input: Math.max(0, count(usage['input_tokens']) - cacheRead - cacheWrite),
    output: count(usage['output_tokens']),
    cacheRead,
    cacheWrite,
  };
  return { parts: [{ model: null, tokens }], costUsd: null, isWholeSession: true };
}
