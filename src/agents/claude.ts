import type { Tokens } from '../loop/event.ts';
import type { Agent, ModelUsage, Usage } from './agent.ts';
import { claudeRecord } from './claude-record.ts';
import { jsonLines } from './json-lines.ts';
import { count, isRecord, list, number, record, text, textOrNull, type Json } from './json.ts';
import { messageProtocol } from './messages.ts';
import { positional } from './prompt-argument.ts';
import type { Reported } from './trouble.ts';

/** Claude Code. */
export const claude: Agent = {
  name: 'claude',
  reports: 'cost',
  call: {
    command: 'claude',
    install: 'npm install -g @anthropic-ai/claude-code',
    triedVersion: '2.1.325',
    autonomous: ['--dangerously-skip-permissions'],
    permissions: /^--(?:permission-|(?:allow-)?dangerously-|(?:dis)?allowed-?tools)/i,
    // As root it refuses to skip permissions unless a variable says that it runs in a sandbox.
    env: (uid) => (uid === 0 ? { IS_SANDBOX: '1' } : {}),
    documented: { flags: [], promptVia: 'argument' },
    model: (model) => ['--model', model],
    own: {
      commands: [],
      flags: ['-p', '--print', '--verbose'],
      format: { options: ['--output-format'], value: 'stream-json' },
    },
    promptVia: 'stdin',
    args: ({ output, flags, prompt }) => [
      '-p',
      ...(output === 'stream'
        ? ['--output-format', 'stream-json', '--verbose']
        : ['--output-format', 'text']),
      ...flags,
      ...(prompt === null ? [] : positional(prompt)),
    ],
    credentials: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
    account: ['CLAUDE_CONFIG_DIR', 'ANTHROPIC_BASE_URL'],
    files: [
      {
        folder: { variable: 'CLAUDE_CONFIG_DIR', below: '.claude' },
        settings: [
          'settings.json',
          'settings.local.json',
          'managed-settings.json',
          'remote-settings.json',
          '.config.json',
          '.mcp.json',
          'keybindings.json',
          'CLAUDE.md',
          'statusline.sh',
          'local',
          'bin',
          'scripts',
          'workflows',
          'routines',
          'state/unattended-serving-consent.json',
        ],
        // With CLAUDE_CONFIG_DIR it is in that folder.
        made: ['.claude.json'],
        settingsFolders: ['hooks', 'plugins', 'agents', 'commands', 'skills', 'rules', 'output-styles'],
      },
      // Not `~/.claude.json`: it has the user's MCP servers, and it need not be writable.
    ],
    projectFiles: [
      '.claude/settings.json',
      '.claude/settings.local.json',
      '.claude/hooks',
      '.claude/plugins',
      '.mcp.json',
    ],
    // On macOS it is in the keychain.
    login: {
      folder: { variable: 'CLAUDE_CONFIG_DIR', below: '.claude' },
      path: '.credentials.json',
      isOnlyPlace: process.platform !== 'darwin',
    },
  },
  remedies: {
    authentication: 'log in with: claude /login, or set ANTHROPIC_API_KEY',
    'unknown-model': 'choose another model with --model',
  },
  read: (run) =>
    jsonLines(
      messageProtocol(
        {
          tokens: claudeTokens,
          tellsUsageEarly: true,
          usageSince: (result) =>
            isRecord(result['model_usage_since_last_result'])
              ? byModel(result['model_usage_since_last_result'])
              : null,
          usage: usageOf,
          error: errorOf,
        },
        run,
      ),
    ),
  record: (run) => claudeRecord(run, claudeTokens),
};

/** `word` is its own name for the error, in the message that it writes in place of the agent. */
function errorOf(result: Json, word: string | null): Reported {
  const message = textOrNull(result['result']) ?? list(result['errors']).map(text).join('; ');
  const type = textOrNull(result['api_error_type']);
  const isTooLong = result['terminal_reason'] === 'prompt_too_long';
  return {
    message,
    status: number(result['api_error_status']),
    codes: [textOrNull(result['api_error']), type, word, isTooLong ? 'prompt_too_long' : null],
    // Versions without the type quote the provider's response.
    isForeign: type === null && !message.includes('{'),
  };
}

/** Tokens in the format of Anthropic's API. */
export function claudeTokens(usage: Json): Tokens {
  return {
    input: count(usage['input_tokens']),
    output: count(usage['output_tokens']),
    cacheRead: count(usage['cache_read_input_tokens']),
    cacheWrite: count(usage['cache_creation_input_tokens']),
  };
}

function byModel(usage: Json): Usage {
  const models = Object.entries(usage);
  const parts = models.map(([model, used]): ModelUsage => {
    const counts = record(used);
    return {
      // `claude-opus-5[1m]` has a larger context; messages and prices have the name without it.
      model: model.replace(/\[\w+\]$/, ''),
      tokens: {
        input: count(counts['inputTokens']),
        output: count(counts['outputTokens']),
        cacheRead: count(counts['cacheReadInputTokens']),
        cacheWrite: count(counts['cacheCreationInputTokens']),
      },
    };
  });
  const costUsd = models.reduce((sum, [, used]) => sum + count(record(used)['costUSD']), 0);
  return { parts, costUsd, isWholeSession: false };
}

/** Older versions report only the whole session. */
function usageOf(result: Json): Usage | null {
  const { parts } = byModel(record(result['modelUsage']));
  const costUsd = number(result['total_cost_usd']);
  if (parts.length > 0) return { parts, costUsd, isWholeSession: true };
  if (costUsd === null && !isRecord(result['usage'])) return null;
  return {
    parts: [{ model: null, tokens: claudeTokens(record(result['usage'])) }],
    costUsd,
    isWholeSession: false,
  };
}
