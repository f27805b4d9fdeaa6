import { NO_SETTINGS } from './agent.ts';
import { join } from 'node:path';
import { textOf } from '../files/files.ts';
import type { Agent, AgentEvent, RunFacts, Usage } from './agent.ts';
import { jsonLines, type Protocol } from './json-lines.ts';
import { count, isRecord, momentOf, number, parsed, record, text, textOrNull, type Json } from './json.ts';
import { valueOf } from './prompt-argument.ts';
import { isTodoTool, summarize, todosIn } from './tool-input.ts';
import { failedResult, readTrouble, type Reported, type Trouble } from './trouble.ts';

/** GitHub Copilot CLI. Its stream has no usage: it writes that into a file when it ends. */
export const copilot: Agent = {
  name: 'copilot',
  reports: 'tokens',
  repeatsAnswer: true,
  call: {
    command: 'copilot',
    install: 'npm install -g @github/copilot',
    triedVersion: '1.0.102',
    autonomous: ['--allow-all'],
    permissions: /^--(?:allow-(?:all|tool|url)|deny-|yolo|autopilot)/,
    env: () => ({}),
    documented: null,
    model: (model) => ['--model', model],
    own: {
      commands: [],
      flags: ['-p', '--prompt', '--no-auto-update'],
      format: { options: ['--output-format'], value: 'json' },
    },
    promptVia: 'stdin',
    args: ({ flags, prompt, folder }) => [
      '--output-format',
      'json',
      '--no-auto-update',
      '--usage-output-file',
      usageFile(folder),
      ...flags,
      ...(prompt === null ? [] : valueOf('-p', '--prompt', prompt)),
    ],
    credentials: ['COPILOT_GITHUB_TOKEN', 'GH_TOKEN', 'GITHUB_TOKEN', 'COPILOT_PROVIDER_API_KEY'],
    account: ['COPILOT_HOME', 'COPILOT_PROVIDER_BASE_URL'],
    files: [
      {
        folder: { variable: 'COPILOT_HOME', below: '.copilot' },
        settings: [
          'settings.json',
          'mcp-config.json',
          'lsp-config.json',
          'permissions-config.json',
          'providers.json',
          'copilot-instructions.md',
          'bin',
          'scripts',
        ],
        settingsFolders: ['hooks', 'agents', 'skills', 'installed-plugins'],
      },
      {
        folder: { variable: 'XDG_CACHE_HOME', below: '.cache' },
        path: 'copilot',
        isProgram: true,
        ...NO_SETTINGS,
      },
    ],
    projectFiles: ['.github/hooks', '.github/copilot', '.copilot/mcp-config.json', '.vscode/mcp.json'],
    // Kept in the keyring of the system.
    login: null,
  },
  remedies: {
    authentication: 'log in with: copilot, then /login, or set COPILOT_GITHUB_TOKEN',
    'unknown-model': 'choose another model with --model',
  },
  read: (run) => jsonLines(copilotProtocol(run)),
  record: ({ workspaceFolder }) => ({ read: () => usageIn(usageFile(workspaceFolder)) }),
};

function usageFile(folder: string): string {
  return join(folder, 'usage.json');
}

function copilotProtocol({ startedAt }: RunFacts): Protocol {
  const hiddenTools = new Set<string>();
  const streamed = new Set<string>();
  let answer: string | null = null;
  let attempts = 0;
  /** The error of the last model call; it has fields that the session error that follows does not have. */
  let call: Reported | null = null;
  let trouble: Trouble | null = null;
  let isAborted = false;

  const result = (event: Json, exitCode: number): readonly AgentEvent[] => {
    const session = textOrNull(event['sessionId']);
    // After a signal it exits with 0 too. Otherwise it recovered from any earlier error.
    if (exitCode === 0 && !isAborted)
      return [{ type: 'result', ok: true, text: answer, usage: null, session, error: null }];
    const message = isAborted
      ? 'copilot was interrupted'
      : `copilot exited with code ${exitCode} and reported no error; see stderr.log of this run`;
    return failedResult(trouble ?? readTrouble({ message }, startedAt), { usage: null, session });
  };

  const take = (type: string, data: Json): readonly AgentEvent[] | null => {
    switch (type) {
      case 'assistant.message_delta':
        if (typeof data['deltaContent'] !== 'string') return null;
        // Text of a subagent is not the agent's own.
        if (data['parentToolCallId'] !== undefined) return [];
        streamed.add(text(data['messageId']));
        return [{ type: 'text', text: data['deltaContent'], message: text(data['messageId']) }];
      case 'assistant.message': {
        if (typeof data['content'] !== 'string') return null;
        const message = text(data['messageId']);
        if (data['parentToolCallId'] !== undefined) return [{ type: 'thought', text: data['content'] }];
        answer = textOrNull(data['content']);
        // The deltas have already passed it on.
        return streamed.delete(message) || answer === null ? [] : [{ type: 'text', text: answer, message }];
      }
      case 'assistant.reasoning':
        return [{ type: 'thought', text: text(data['content']) }];
      case 'tool.execution_start': {
        const [id, name] = [text(data['toolCallId']), text(data['toolName'])];
        if (name === '') return null;
        if (isTodoTool(name)) {
          hiddenTools.add(id);
          return [{ type: 'todo', items: todosIn(data['arguments']) }];
        }
        return [{ type: 'tool.start', id, name, input: summarize(name, data['arguments']) }];
      }
      case 'tool.execution_complete': {
        const id = text(data['toolCallId']);
        if (hiddenTools.delete(id)) return [];
        const code = number(record(data['shellExecution'])['exitCode']);
        const output =
          textOrNull(record(data['result'])['content']) ?? text(record(data['error'])['message']);
        const ok = data['success'] !== false && (code === null || code === 0);
        return [
          {
            type: 'tool.end',
            id,
            ok,
            output: output.replace(/\n?<shellId: \d+ completed with exit code \d+>$/, ''),
          },
        ];
      }
      case 'model.call_failure':
        if (typeof data['errorMessage'] !== 'string') return null;
        call = failureOf(data);
        return [];
      case 'model.call_final_result':
        attempts = 0;
        return [];
      case 'assistant.turn_retry': {
        attempts++;
        const error =
          call === null
            ? ({ kind: 'transient', message: text(data['reason']) } as const)
            : readTrouble(call, startedAt).error;
        return [{ type: 'retry', attempt: attempts, most: null, waitMs: null, error }];
      }
      case 'abort':
        if (typeof data['reason'] !== 'string') return null;
        isAborted = true;
        return [];
      case 'session.error': {
        if (typeof data['message'] !== 'string') return null;
        const said = { message: text(data['message']), status: number(data['statusCode']) };
        const callError = call === null ? null : readTrouble(call, startedAt);
        trouble = callError?.limit ? callError : readTrouble({ ...call, ...said }, startedAt);
        return [];
      }
      default:
        return IGNORED.test(type) ? [] : null;
    }
  };

  return {
    take(event) {
      if (event['type'] === 'result')
        return typeof event['exitCode'] === 'number' ? result(event, event['exitCode']) : null;
      return isRecord(event['data']) ? take(text(event['type']), event['data']) : null;
    },
  };
}

/** Known event types without any relevant content. */
const IGNORED =
  /^(?:session\.(?!error)|subagent\.|user\.|assistant\.(?:turn_start|turn_end|idle|message_start|tool_call_delta|reasoning_delta|intent)|model\.call_|tool\.(?:shell_output|execution_partial_result)|agent\.)/;

function failureOf(data: Json): Reported {
  const inner = parsed(data['errorMessage']);
  return {
    message: textOrNull(inner['message']) ?? text(data['errorMessage']).replace(/^"(.*)"$/s, '$1'),
    status: number(data['statusCode']),
    codes: ['errorCode', 'errorType', 'failureKind'].map((field) => textOrNull(data[field])),
    resetsAt: momentOf(inner['resets_at']),
    isForeign: Object.keys(inner).length === 0,
  };
}

function usageIn(file: string): Usage | null {
  let written: Json;
  try {
    written = parsed(textOf(file) ?? '');
  } catch {
    // It was killed before it wrote the file.
    return null;
  }
  const models = Object.entries(record(written['modelMetrics']));
  if (models.length === 0) return null;
  const parts = models.map(([model, metrics]) => {
    const used = record(record(metrics)['usage']);
    const [cacheRead, cacheWrite] = [count(used['cacheReadTokens']), count(used['cacheWriteTokens'])];
    const input = Math.max(0, count(used['inputTokens']) - cacheRead - cacheWrite);
    return { model, tokens: { input, output: count(used['outputTokens']), cacheRead, cacheWrite } };
  });
  return { parts, costUsd: null, isWholeSession: false };
}
