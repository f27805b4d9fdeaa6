import type { Agent, AgentEvent, ModelUsage, RunFacts, Usage } from './agent.ts';
import { geminiRecord } from './gemini-record.ts';
import { jsonLines, type Protocol } from './json-lines.ts';
import { count, isRecord, record, text, textOrNull, type Json } from './json.ts';
import { valueOf } from './prompt-argument.ts';
import { isTodoTool, summarize, todosIn } from './tool-input.ts';
import { failedResult, readTrouble } from './trouble.ts';

/** Gemini CLI. Its text arrives only in pieces, and its stream repeats the prompt. */
export const gemini: Agent = {
  name: 'gemini',
  reports: 'tokens',
  repeatsAnswer: true,
  call: {
    command: 'gemini',
    install: 'npm install -g @google/gemini-cli',
    triedVersion: '0.61.0',
    autonomous: ['--yolo', '--skip-trust'],
    permissions: /^(?:-y$|--(?:yolo|approval-mode|allowed-tools))/,
    env: () => ({}),
    documented: null,
    model: (model) => ['--model', model],
    own: {
      commands: [],
      flags: ['-p', '--prompt'],
      format: { options: ['--output-format', '-o'], value: 'stream-json' },
    },
    promptVia: 'stdin',
    args: ({ flags, prompt }) => [
      '--output-format',
      'stream-json',
      ...flags,
      ...(prompt === null ? [] : valueOf('-p', '--prompt', prompt)),
    ],
    credentials: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    account: ['GOOGLE_GEMINI_BASE_URL', 'GOOGLE_CLOUD_PROJECT'],
    files: [
      {
        folder: { variable: null, below: '.gemini' },
        settings: [
          'settings.json',
          'trustedFolders.json',
          'keybindings.json',
          'GEMINI.md',
          'system.md',
          '.env',
          'bin',
          'scripts',
        ],
        made: ['tmp/bin'],
        settingsFolders: ['extensions', 'commands', 'policies', 'hooks', 'agents', 'skills'],
      },
    ],
    projectFiles: ['.gemini/settings.json', '.gemini/hooks', '.gemini/extensions', '.gemini/.env'],
    login: {
      folder: { variable: null, below: '.gemini' },
      path: 'oauth_creds.json',
      isOnlyPlace: false,
    },
  },
  remedies: {
    authentication: 'log in with: gemini, then /auth, or set GEMINI_API_KEY',
    'invalid-configuration':
      'choose a method with: gemini, then /auth, or correct security.auth.selectedType in ~/.gemini/settings.json',
    'unknown-model': 'choose another model with --model',
  },
  read: (run) => jsonLines(geminiProtocol(run)),
  record: geminiRecord,
};

function geminiProtocol({ startedAt }: RunFacts): Protocol {
  let session: string | null = null;
  let messages = 0;
  let isInMessage = false;
  let answer = '';
  let lastError = '';
  const hiddenTools = new Set<string>();

  const assistantText = (words: unknown): readonly AgentEvent[] | null => {
    if (typeof words !== 'string') return null;
    if (!isInMessage) {
      messages++;
      answer = '';
    }
    isInMessage = true;
    if (answer.length < MAX_ANSWER_LENGTH) answer += words;
    return [{ type: 'text', text: words, message: `message-${messages}` }];
  };

  const result = (event: Json): readonly AgentEvent[] | null => {
    if (typeof event['status'] !== 'string') return null;
    const usage = isRecord(event['stats']) ? usageOf(event['stats']) : null;
    if (event['status'] === 'success') {
      return [{ type: 'result', ok: true, text: answer === '' ? null : answer, usage, session, error: null }];
    }
    const message = (textOrNull(record(event['error'])['message']) ?? lastError).replace(
      /^\[API Error: ([\s\S]*?)\](?:\n|$)/,
      '$1\n',
    );
    const at = Date.parse(text(event['timestamp']));
    const now = Number.isNaN(at) ? startedAt : Math.max(at, startedAt);
    const isLimit = (suggestedDelay(message) ?? 0) > MAX_OWN_DELAY_S;
    const codes = isLimit ? ['usage_limit_reached'] : [];
    const trouble = readTrouble({ message: message.trim(), codes, quotaResets: true }, now);
    return failedResult(trouble, { usage, session });
  };

  return {
    take(event) {
      switch (event['type']) {
        case 'init':
          session = textOrNull(event['session_id']) ?? session;
          return [{ type: 'progress', text: `session: ${session ?? 'unknown'}`, usage: null, session }];
        case 'message':
          if (event['role'] === 'assistant') return assistantText(event['content']);
          // The stream repeats the prompt.
          return event['role'] === 'user' ? [] : null;
        case 'tool_use': {
          const [id, name] = [text(event['tool_id']), text(event['tool_name'])];
          if (name === '') return null;
          isInMessage = false;
          if (isTodoTool(name)) {
            hiddenTools.add(id);
            return [{ type: 'todo', items: todosIn(event['parameters']) }];
          }
          return [{ type: 'tool.start', id, name, input: summarize(name, event['parameters']) }];
        }
        case 'tool_result': {
          const id = text(event['tool_id']);
          if (hiddenTools.delete(id)) return [];
          const output = textOrNull(event['output']) ?? text(record(event['error'])['message']);
          return [{ type: 'tool.end', id, ok: event['status'] !== 'error', output }];
        }
        case 'error':
          // The result after it may have no message.
          if (event['severity'] === 'error') lastError = text(event['message']);
          return [{ type: 'progress', text: text(event['message']), usage: null, session }];
        case 'result':
          return result(event);
        default:
          return null;
      }
    },
  };
}

/** The seconds in `Suggested retry after 7200s`, which the CLI adds to the message of the provider. */
function suggestedDelay(message: string): number | null {
  const seconds = /\nSuggested retry after (\d+(?:\.\d+)?)s/.exec(message)?.[1];
  return seconds === undefined ? null : Number(seconds);
}

/** The CLI waits for a shorter delay itself, and gives up at once at a longer one. */
const MAX_OWN_DELAY_S = 300;

const MAX_ANSWER_LENGTH = 1_000_000;

function usageOf(stats: Json): Usage | null {
  const models = Object.entries(record(stats['models']));
  const parts =
    models.length === 0 ? [part(null, stats)] : models.map(([model, used]) => part(model, record(used)));
  return { parts, costUsd: null, isWholeSession: false };
}

/** Reasoning tokens are only in the total. */
function part(model: string | null, used: Json): ModelUsage {
  const all = count(used['input_tokens']);
  const cacheRead = count(used['cached']);
  const output = Math.max(count(used['output_tokens']), count(used['total_tokens']) - all);
  return { model, tokens: { input: Math.max(0, all - cacheRead), output, cacheRead, cacheWrite: 0 } };
}
