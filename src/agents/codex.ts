import type { Agent, AgentEvent, RunFacts, Usage } from './agent.ts';
import { codexRecord, tokensOf } from './codex-record.ts';
import { jsonLines, type Protocol } from './json-lines.ts';
import { isRecord, number, record, text, textOrNull, type Json } from './json.ts';
import { positional } from './prompt-argument.ts';
import { summarize, todosIn } from './tool-input.ts';
import { failedResult, readTrouble } from './trouble.ts';

/** In text mode its answer is mixed with other output, so it is read from this file. */
const ANSWER = 'answer.txt';

/** Codex CLI. */
export const codex: Agent = {
  name: 'codex',
  reports: 'tokens',
  repeatsAnswer: true,
  call: {
    command: 'codex',
    install: 'npm install -g @openai/codex',
    triedVersion: '0.166.0',
    autonomous: ['--dangerously-bypass-approvals-and-sandbox', '--skip-git-repo-check'],
    // A profile may have a sandbox and an approval policy of its own.
    permissions:
      /^(?:-[asp](?!-)|--(?:ask-for-approval|sandbox|profile|approve-for-me|full-auto|yolo|dangerously-bypass-approvals))|^(?:-c|--config=)?(?:sandbox|approval|permissions|default_permissions)/,
    env: () => ({}),
    documented: {
      flags: ['--full-auto'],
      substitutes: ['--sandbox', 'workspace-write', '--skip-git-repo-check'],
      promptVia: 'file',
    },
    model: (model) => ['--model', model],
    own: { commands: ['exec', 'e'], flags: ['--json', '-'], format: null },
    promptVia: 'stdin',
    args: ({ output, flags, prompt, folder }) => [
      'e',
      ...(output === 'stream' ? ['--json'] : []),
      ...flags,
      ...(output === 'stream' ? [] : ['-o', `${folder}/${ANSWER}`]),
      ...(prompt === null ? ['-'] : positional(prompt)),
    ],
    answerFile: ANSWER,
    credentials: ['CODEX_API_KEY', 'OPENAI_API_KEY'],
    account: ['CODEX_HOME', 'OPENAI_BASE_URL'],
    files: [
      {
        folder: { variable: 'CODEX_HOME', below: '.codex' },
        settings: [
          'config.toml',
          'managed_config.toml',
          'requirements.toml',
          'environments.toml',
          '.env',
          'hooks.json',
          'AGENTS.md',
          'AGENTS.override.md',
          'bin',
          'scripts',
        ],
        settingsFolders: ['hooks', 'rules', 'prompts', 'skills', 'plugins', 'agents'],
      },
    ],
    projectFiles: ['.codex/config.toml', '.codex/hooks.json', '.codex/hooks', '.codex/rules'],
    login: {
      folder: { variable: 'CODEX_HOME', below: '.codex' },
      path: 'auth.json',
      isOnlyPlace: true,
    },
  },
  remedies: {
    authentication: 'log in with: codex login, or set CODEX_API_KEY',
    'unknown-model': 'choose another model with --model',
  },
  read: (run) => jsonLines(codexProtocol(run)),
  record: (run) => codexRecord(run, usageOf),
};

function codexProtocol({ startedAt }: RunFacts): Protocol {
  let session: string | null = null;
  let answer: string | null = null;
  /** How often it has tried to connect since its last item. */
  let connects = 0;

  /** An `error` event or item does not end the run: the CLI retries until `turn.failed`. */
  const notice = (message: string): AgentEvent => {
    const [, attempt, most, waits, reason] =
      /^Reconnecting(?:\.{3}|…) (?:(\d+)\/(\d+)|(waiting for network))(?: \((.*)\))?/s.exec(message) ?? [];
    if (attempt === undefined && waits === undefined)
      return { type: 'progress', text: message, usage: null, session };
    connects = attempt === undefined ? connects + 1 : Number(attempt);
    const why = [waits, reason].filter((part) => part !== undefined).join(': ');
    const { error, limit } = readTrouble({ message: why === '' ? message : why }, startedAt);
    const attempts = { attempt: connects, most: most === undefined ? null : Number(most), waitMs: null };
    return { type: 'retry', ...attempts, error, ...(limit === null ? {} : { limit }) };
  };

  const item = (phase: string, entry: Json): readonly AgentEvent[] | null => {
    const id = text(entry['id']);
    if (entry['type'] !== 'error') connects = 0;
    switch (entry['type']) {
      case 'agent_message':
        if (phase !== 'item.completed' || typeof entry['text'] !== 'string') return [];
        answer = entry['text'];
        return [{ type: 'text', text: answer, message: id }];
      case 'reasoning':
        return phase === 'item.completed' ? [{ type: 'thought', text: text(entry['text']) }] : [];
      case 'todo_list':
        return phase === 'item.completed' ? [] : [{ type: 'todo', items: todosIn(entry) }];
      case 'error':
        return phase === 'item.completed' ? [notice(text(entry['message']))] : [];
      case 'command_execution':
      case 'file_change':
      case 'mcp_tool_call':
      case 'web_search':
        return tool(phase, id, entry);
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
          return [notice(text(event['message']))];
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

function tool(phase: string, id: string, entry: Json): readonly AgentEvent[] {
  const name = TOOL_NAMES[text(entry['type'])] ?? textOrNull(entry['tool']) ?? 'tool';
  if (phase === 'item.started') {
    const command = insideShell(text(entry['command']));
    return [{ type: 'tool.start', id, name, input: summarize(name, command === '' ? entry : { command }) }];
  }
  if (phase !== 'item.completed') return [];
  const code = number(entry['exit_code']);
  const output = text(entry['aggregated_output']);
  const failed = entry['status'] === 'failed' || (code !== null && code !== 0);
  return [
    {
      type: 'tool.end',
      id,
      ok: !failed,
      output: failed && code !== null ? `exit code ${code}: ${output}` : output,
    },
  ];
}

/** The command inside `sh -c '…'`, unquoted. */
function insideShell(command: string): string {
  const [, quoted] = /^(?:\S*\/)?(?:ba|z|da)?sh -l?c (.+)$/s.exec(command) ?? [];
  if (quoted === undefined) return command;
  const [, single] = /^'([^']*)'$/s.exec(quoted) ?? [];
  const [, double] = /^"((?:[^"\\]|\\.)*)"$/s.exec(quoted) ?? [];
  return single ?? double?.replaceAll(/\\(["\\$`\n])/g, '$1') ?? quoted;
}

const TOOL_NAMES: Readonly<Record<string, string>> = {
  command_execution: 'Bash',
  file_change: 'Edit',
  web_search: 'WebSearch',
};

function usageOf(usage: Json): Usage {
  return { parts: [{ model: null, tokens: tokensOf(usage) }], costUsd: null, isWholeSession: true };
}
