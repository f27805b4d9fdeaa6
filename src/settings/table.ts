/**
 * Everything that a user can set, one row for each setting, in groups. The type of the settings, the schema of the files, second names,
 * options of the command line, help texts, options of the library and docs/configuration.md follow from the rows (`rows.ts`). What a
 * setting means is one line in `policy.ts`.
 */
export const TABLE = {
  /** The file itself. */
  file: {
    $schema: { type: 'any-text', says: 'schema of this file, for editors' },
  },

  /** What the loop works on and where. */
  task: {
    preset: {
      type: 'preset',
      flag: '--preset <name>',
      only: ['run'],
      says: 'set of defaults: default, conductor, ralph-cli, architect, swarm or promise (docs/presets.md)',
      more: 'The other settings override them.',
    },
    worktree: {
      type: 'yes-no',
      flag: '--worktree',
      says: 'work in a separate git worktree, on its own branch',
      more: 'Without `scm.tasks` Ralph commits every iteration whose checks passed there, with the task as the message.',
      off: 'work in the workspace',
      default: false,
      everyday: '',
    },
    keepAwake: {
      type: 'yes-no',
      flag: '--keep-awake',
      says: 'keep the machine awake while the loop goes on by itself (docs/background.md)',
      off: 'let the machine sleep while the loop runs',
    },
    setup: { type: 'text', list: 'strings', says: 'shell commands, run once in a new worktree before the first iteration, e.g. `npm ci`' },
    setupTimeout: { type: 'timeout', says: 'maximum time per set-up command' },
    scm: {
      says: 'version control tasks after an iteration',
      parts: {
        command: { type: 'text', says: 'version control program, e.g. git' },
        tasks: {
          type: 'text',
          list: 'strings',
          says: 'tasks to run with it after each iteration whose checks passed, in order',
          more: '`commit` commits the changes of the loop; the agent writes the message.',
        },
        timeout: { type: 'timeout', says: 'maximum time per task', default: '10m' },
      },
    },
    children: {
      says: 'limits on the child loops that the agent starts (docs/children-and-bus.md)',
      parts: {
        maxDepth: { type: 'whole', says: 'maximum number of generations of child loops below the first loop', zero: 'no child loops' },
        maxActive: { type: 'whole', says: 'maximum number of child loops of one loop at the same time', zero: 'no child loops' },
      },
    },
    includeIterationCountInPrompt: {
      type: 'yes-no',
      says: 'start every prompt with the count of iterations',
      more: 'The line is `Iteration X of Y, Z remaining.`',
    },
  },

  /** The agent: how it is called, and what it sees of the machine. */
  agent: {
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
  },

  /** What verifies the work, and what claims that it is done. */
  checks: {
    checks: {
      list: 'checks',
      short: 'command',
      alias: 'guardrails',
      flag: '--check <command>',
      says: 'commands that must exit 0 before the work is done',
      more: 'They run in this order after each iteration. Each is a command, or an object that says more about it.',
      everyday: '"npm test"',
      parts: {
        command: { type: 'text', required: true, says: 'shell command, run in the workspace; it passes with exit code 0' },
        failAction: {
          type: 'fail-action',
          alias: 'action',
          says: 'where the failure goes in the next prompt: after it, before it, or instead of it',
          default: 'APPEND',
        },
        hint: { type: 'any-text', says: 'guidance for the agent when the check fails' },
      },
    },
    checkTimeout: { type: 'timeout', flag: '--check-timeout <time>', says: 'maximum time per check' },
    plan: {
      type: 'file-or-false',
      flag: '--plan <file>',
      says: 'plan whose items must all be done: a Markdown checklist or prd.json (docs/plans.md)',
      more: 'Its open items are a check, and the prompt shows the next one.',
      off: 'use no plan',
      everyday: 'PLAN.md',
    },
    baseline: {
      type: 'yes-no',
      flag: '--baseline',
      says: 'run the checks once before the first iteration, to report what failed before',
      more: 'Default in `ralph loop`: true.',
      off: 'do not run the checks before the first iteration',
    },
    protect: {
      type: 'text',
      list: 'globs',
      flag: '--protect <glob>',
      says: 'files that the agent must not change, e.g. "test/**"',
      more: 'Globs, relative to the workspace. Files that did not exist when the loop started do not count. Needs git.',
    },
    onProtectedChange: {
      type: 'protected-change',
      flag: '--on-protected-change <what>',
      says: 'after a change of a protected file: warn, reject claims, or restore the file',
      more: 'With `warn` the reports and the next prompt say so, `reject` also rejects claims to be done, and `restore` puts the file back before the checks run.',
    },
    until: {
      type: 'until',
      flag: '--until <what>',
      only: ['run'],
      says: 'what completes the loop: both, checks or claim',
      more: '`checks`: all checks pass, `claim`: the agent claims completion.',
      byDefault: 'both if there are checks, else claim',
    },
    completionPromise: { type: 'text', flag: '--completion-promise <text>', only: ['run'], says: 'text in <promise>…</promise> that claims completion' },
    completionResponse: {
      type: 'text',
      flag: '-c, --completion-response <text>',
      only: ['run'],
      says: 'text in <response>…</response> that claims completion',
      blankIsDefault: true,
    },
    completionTag: {
      type: 'text',
      flag: '--completion-tag <word>',
      only: ['run', 'loop'],
      says: 'word in the final answer that claims completion, as a whole word',
    },
    donePattern: {
      type: 'text',
      flag: '--done-pattern <regex>',
      only: ['run', 'spawn'],
      says: "pattern in the agent's output that claims completion, in Python syntax",
    },
    doneFile: { type: 'text', flag: '--done-file <file>', only: ['run'], says: 'file in the workspace whose existence claims completion' },
    outputTruncateChars: {
      type: 'count',
      says: "maximum number of characters of a failed check's output in the prompt",
      more: 'Its log below `.ralph/` has all of it, up to 64 MiB.',
      blankIsDefault: true,
    },
  },

  /** When the loop stops, how long it waits, and how much it keeps. */
  limits: {
    maxIterations: {
      type: 'iterations',
      alias: 'maximumIterations',
      flag: '-m, --max-iterations <number>',
      secondFlag: '--maximum-iterations <number>',
      says: 'maximum number of iterations',
      blankIsDefault: true,
      everyday: '20',
    },
    maxTime: {
      type: 'time',
      flag: '--max-time <time>',
      says: 'maximum active time of the loop, e.g. 90s, 15m, 2h',
      more: 'Time in which no owner drives the loop does not count.',
      everyday: '2h',
    },
    maxCost: { type: 'amount', flag: '--max-cost <dollars>', says: 'maximum cost in US dollars', everyday: '5' },
    maxTokens: { type: 'count', flag: '--max-tokens <number>', says: 'maximum number of tokens' },
    maxFailures: { type: 'count', flag: '--max-failures <number>', says: 'maximum number of consecutive failures' },
    maxLimitWaits: { type: 'whole', flag: '--max-limit-waits <number>', says: 'maximum number of waits for a usage limit', zero: 'end at the first one' },
    maxAttemptsPerItem: {
      type: 'count',
      flag: '--max-attempts-per-item <number>',
      says: 'maximum number of iterations per item of the plan, then it is blocked (docs/plans.md)',
    },
    maxUnchanged: {
      type: 'whole',
      flag: '--max-unchanged <number>',
      says: 'maximum number of consecutive iterations without progress',
      zero: 'unlimited',
      more: "An iteration makes no progress if the loop has had the same files with the same check results before. Files that checks and commits write do not count; files that the agent's own test runs write count unless git ignores them. The prompt mentions it two iterations before.",
    },
    maxRepeats: {
      type: 'whole',
      says: 'in a session (docs/in-session.md): number of equal answers in a row, without a tool call or a changed file, after which the loop ends as stuck',
      zero: 'unlimited',
    },
    maxOutput: { type: 'size', flag: '--max-output <size>', says: 'maximum output per run, check, set-up command or SCM task, e.g. 500k, 20m' },
    iterationTimeout: { type: 'timeout', flag: '--iteration-timeout <time>', says: 'maximum time per run' },
    inactivityTimeout: { type: 'timeout', flag: '--inactivity-timeout <time>', says: 'maximum time without output per run' },
    restartDelay: { type: 'time', flag: '--restart-delay <time>', says: 'delay between iterations' },
    killGrace: { type: 'time', flag: '--kill-grace <time>', says: 'time between SIGTERM and SIGKILL' },
    childWait: {
      type: 'time',
      flag: '--child-wait <time>',
      says: 'maximum wait for active children when the loop is done; 5m with preset conductor',
      zero: 'no wait',
    },
    pollInterval: { type: 'time', flag: '--poll-interval <time>', says: 'interval between two looks at these children', byDefault: '1s' },
    checkpointMaxFile: { type: 'size', flag: '--checkpoint-max-file <size>', says: 'maximum size of an untracked file in checkpoints and commits' },
    checkpointMaxTotal: {
      type: 'size',
      flag: '--checkpoint-max-total <size>',
      says: 'maximum size of all untracked files in a checkpoint or commit',
      more: 'The largest of them are left out.',
    },
  },

  /** Where notices are sent. */
  notices: {
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
  },

  /** What assistants may do through the MCP server. */
  assistants: {
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
  },

  /** What the terminal shows. These settings need no consent (`consent.ts`), and a program has no use for them. */
  output: {
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
  },
} as const;
