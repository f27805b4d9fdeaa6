/** Where notices are sent. */
export const NOTICES = {
  notify: {
    type: 'text',
    list: 'places that notices are sent to',
    flag: '--notify <where>',
    says: 'where notices go: env:NAME, desktop, terminal, or "command …"; none for no notices (docs/notices.md)',
    more: 'Objects say more. Adds to your own settings.',
    default: [],
    everyday: 'desktop',
    parts: {
      to: {
        type: 'text',
        required: true,
        says: '`env:NAME` (an address in a variable), `desktop`, `terminal`, or `command …`; in your own settings also the address',
      },
      name: { type: 'text', says: 'name in messages and for `ralph notify test --to`' },
      key: { type: 'text', says: 'key of the signature of a webhook, or access token of an ntfy server: `env:NAME`; in your own settings also the key' },
      events: { type: 'notice-kind', list: 'kinds of notices', says: 'kinds of notices to send (docs/notices.md)', byDefault: 'all but `iteration.ended`' },
      timeout: { type: 'time', says: 'maximum time of one attempt', byDefault: '10s, of a command 30s' },
    },
  },
  on: { type: 'notice-commands', says: 'shell commands by the kind of notice (docs/notices.md), run beside the loop when it has happened' },
} as const;

/** What the terminal shows. These settings need no consent (`consent.ts`), and a program has no use for them. */
export const OUTPUT = {
  streamAgentOutput: {
    type: 'yes-no',
    flag: '--stream-agent-output',
    says: 'show the output of the agent',
    off: 'hide the output of the agent',
    default: true,
  },
  emoji: {
    type: 'yes-no',
    flag: '--emoji',
    says: 'show emoji',
    more: 'Always (true) or never (false).',
    off: 'show [OK] and [ERR] instead of emoji',
    default: 'auto',
    byDefault: 'if the terminal supports them',
  },
  timestamps: { type: 'yes-no', flag: '--timestamps', says: 'start every line with the time', default: false },
  outputLines: { type: 'whole', flag: '--output-lines <number>', says: 'maximum lines shown of the output of a tool', default: 3 },
  outputChars: { type: 'whole', flag: '--output-chars <number>', says: 'maximum characters shown of each of these lines', default: 120 },
} as const;

/** What assistants may do through the MCP server. */
export const ASSISTANTS = {
  mcp: {
    says: 'the MCP server (docs/mcp.md)',
    parts: {
      allow: {
        type: 'mcp-change',
        list: 'changes',
        says: 'what assistants may do to loops through `ralph mcp`',
        default: [],
        byDefault: 'nothing; they can only read',
      },
    },
  },
} as const;

/** The file itself. */
export const FILE = {
  $schema: { type: 'any-text', says: 'schema of this file, for editors' },
} as const;
