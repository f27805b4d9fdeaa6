import { NO_SETTINGS } from './agent.ts';
import type { Agent } from './agent.ts';
import { claudeTokens } from './claude.ts';
import { jsonLines } from './json-lines.ts';
import { isRecord, number, parsed, text } from './json.ts';
import { messageProtocol } from './messages.ts';
import { valueOf } from './prompt-argument.ts';

/** Amp. It always exits with 0, so only its result shows whether a run failed. */
export const amp: Agent = {
  name: 'amp',
  reports: 'tokens',
  call: {
    command: 'amp',
    install: 'npm install -g @sourcegraph/amp',
    triedVersion: '0.0.1768018268',
    autonomous: ['--dangerously-allow-all'],
    permissions: /^--dangerously-allow-all/,
    env: () => ({}),
    documented: { flags: ['--dangerously-allow-all'], promptVia: 'argument' },
    model: null,
    own: { commands: [], flags: ['-x', '--execute', '--stream-json'], format: null },
    promptVia: 'stdin',
    // The prompt is the argument of -x, so both come last.
    args: ({ output, flags, prompt }) => [
      ...(output === 'stream' ? ['--stream-json'] : []),
      ...flags,
      ...(prompt === null ? ['-x'] : valueOf('-x', '--execute', prompt)),
    ],
    credentials: ['AMP_API_KEY'],
    account: ['AMP_URL'],
    files: [
      {
        folder: { variable: 'XDG_DATA_HOME', below: '.local/share' },
        path: 'amp',
        ...NO_SETTINGS,
        made: ['bin'],
      },
      { folder: { variable: 'XDG_CACHE_HOME', below: '.cache' }, path: 'amp', ...NO_SETTINGS },
      {
        folder: { variable: 'XDG_CONFIG_HOME', below: '.config' },
        path: 'amp',
        settings: ['settings.json', 'settings.jsonc', 'AGENTS.md'],
        settingsFolders: ['plugins', 'tools'],
      },
    ],
    projectFiles: ['.amp/settings.json', '.amp/settings.jsonc', '.amp/plugins', '.amp/tools'],
    login: {
      folder: { variable: 'XDG_DATA_HOME', below: '.local/share' },
      path: 'amp/secrets.json',
      isOnlyPlace: false,
    },
  },
  remedies: {
    authentication: 'log in with: amp login, or set AMP_API_KEY',
  },
  read: (run) =>
    jsonLines(
      messageProtocol(
        {
          tokens: claudeTokens,
          // Most builds report usage only in the messages.
          usage: ({ usage }) =>
            isRecord(usage)
              ? {
                  parts: [{ model: null, tokens: claudeTokens(usage) }],
                  costUsd: null,
                  isWholeSession: false,
                }
              : null,
          error: (result) => ({ message: text(result['error']) }),
          outcome: shellOutcome,
        },
        run,
      ),
    ),
};

/** Amp does not report a failed command as an error: the exit code is inside the output. */
function shellOutcome(output: string): { ok: boolean; output: string } | null {
  const inner = parsed(output);
  const code = number(inner['exitCode']);
  return code === null ? null : { ok: code === 0, output: text(inner['output']) };
}
