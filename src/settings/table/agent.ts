/** The agent: how it is called, and what it sees of the machine. */
export const AGENT = {
  agent: {
    says: 'the agent',
    parts: {
      name: {
        type: 'text',
        flag: '--agent <name>',
        says: 'agent to run: claude, codex, opencode, gemini, qwen, copilot, amp or custom (see ralph agents)',
        more: 'Needed if the agent does not follow from the command.',
        everyday: 'claude',
      },
      command: { type: 'text', says: 'program to run as the agent: claude, codex, amp, or any other', blankIsDefault: true },
      flags: {
        type: 'any-text',
        list: 'strings',
        says: 'flags of the agent; a flag with spaces is split into words',
        more: 'They replace the flags that let it work without asking for permission.',
      },
      model: { type: 'text', flag: '--model <model>', says: 'model for the agent', byDefault: "the agent's own", everyday: 'opus' },
      promptVia: {
        type: 'prompt-way',
        flag: '--prompt-via <way>',
        says: 'how the agent gets the prompt: stdin, file or argument',
        byDefault: 'as the agent expects it',
      },
      env: {
        says: 'environment of the agent',
        parts: {
          drop: { type: 'variable', list: 'names', flag: '--drop-env <key>', says: 'environment variables to hide from the agent' },
        },
      },
    },
  },
  interactive: { type: 'yes-no', flag: '--interactive', says: 'run the command as given in a tmux window, and paste the prompt into it' },
  readyTimeout: {
    type: 'time',
    flag: '--ready-timeout <time>',
    says: 'maximum time until an interactive agent is ready for its prompt',
    more: 'Then it gets the prompt anyway.',
  },
  sandbox: {
    type: 'yes-no',
    flag: '--sandbox',
    says: 'run the agent in a sandbox: it can write only the workspace (docs/sandbox.md)',
    more: 'The agent can write its own files, too. An object switches the sandbox on with options.',
    off: 'run the agent without a sandbox',
    everyday: '',
    parts: {
      checks: { type: 'yes-no', says: 'also run checks and set-up commands in the sandbox', default: false },
      write: { type: 'text', list: 'paths', says: 'paths that are writable in addition to the workspace; `~` is the home folder' },
      hide: { type: 'text', list: 'paths', says: 'paths that are hidden in addition' },
      network: { type: 'yes-no', says: 'access to the network', default: true },
    },
  },
} as const;
