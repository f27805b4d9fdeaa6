import type { Tokens } from '../loop/event.ts';
import type { Agent } from './agent.ts';
import { jsonLines } from './json-lines.ts';
import { count, isRecord, record, text, type Json } from './json.ts';
import { messageProtocol } from './messages.ts';
import { valueOf } from './prompt-argument.ts';
import { readTrouble } from './trouble.ts';

/** Qwen Code. */
export const qwen: Agent = {
  name: 'qwen',
  reports: 'tokens',
  call: {
    command: 'qwen',
    install: 'npm install -g @qwen-code/qwen-code',
    triedVersion: '0.24.4',
    autonomous: ['--yolo'],
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
      ...(prompt === null ? [] : valueOf(null, '--prompt', prompt)),
    ],
    credentials: ['OPENAI_API_KEY', 'DASHSCOPE_API_KEY', 'QWEN_API_KEY'],
    account: ['OPENAI_BASE_URL'],
    files: [
      {
        folder: { variable: null, below: '.qwen' },
        settings: [
          'settings.json',
          'trustedFolders.json',
          'QWEN.md',
          'AGENTS.md',
          'system.md',
          '.env',
          'rules',
          'output-styles',
          'locales',
          'updates',
          'bin',
          'scripts',
        ],
        made: ['output-language.md', 'tmp/bin'],
        settingsFolders: ['extensions', 'commands', 'policies', 'hooks', 'agents', 'skills'],
      },
    ],
    projectFiles: ['.qwen/settings.json', '.qwen/hooks', '.qwen/extensions', '.qwen/.env'],
    login: {
      folder: { variable: null, below: '.qwen' },
      path: 'oauth_creds.json',
      isOnlyPlace: false,
    },
  },
  remedies: {
    authentication: 'log in with: qwen, then /auth, or set OPENAI_API_KEY',
    'unknown-model': 'choose another model with --model',
  },
  read: (run) =>
    jsonLines(
      messageProtocol(
        {
          tokens,
          // The CLI appends its own errors to the text of the agent.
          ownText: (whole) => whole.replace(/\[API Error: (?:(?!\[API Error: ).)*\]$/s, ''),
          usage: ({ usage }) =>
            isRecord(usage)
              ? { parts: [{ model: null, tokens: tokens(usage) }], costUsd: null, isWholeSession: true }
              : null,
          error: (result) => ({
            message: text(record(result['error'])['message']).replace(/^\[(.*)\]$/s, '$1'),
          }),
        },
        run,
      ),
    ),
  readComplaint(line, { startedAt }) {
    const [, seconds, attempt, most, reason] =
      /^Retrying in (\d+)s \(attempt (\d+)\/(\d+)\): \[?(.*?)\]?$/.exec(line) ?? [];
    if (reason === undefined) return null;
    const { error, limit } = readTrouble({ message: reason }, startedAt);
    return {
      // It has repeated the request many times before the first of these long waits.
      attempt: REQUESTS_PER_ATTEMPT * Number(attempt),
      most: REQUESTS_PER_ATTEMPT * Number(most),
      waitMs: 1000 * Number(seconds),
      error,
      ...(limit === null ? {} : { limit }),
      isRepeated: true,
    };
  },
};

const REQUESTS_PER_ATTEMPT = 10;

/** Qwen's input includes the tokens from the cache. */
function tokens(usage: Json): Tokens {
  const cacheRead = count(usage['cache_read_input_tokens']);
  return {
    input: Math.max(0, count(usage['input_tokens']) - cacheRead),
    output: count(usage['output_tokens']),
    cacheRead,
    cacheWrite: 0,
  };
}
