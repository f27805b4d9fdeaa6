/** The options that several commands share, in the groups and the order in which the help shows them. */
import { Option, type Command } from 'commander';

/** `ralph run`, and `ralph config`, whose `--json` prints something else. */
export function runOptions(command: Command, json?: string): Command {
  command
    .optionsGroup('Task:')
    .option('-p, --prompt <text>', 'task for the agent (the same as TASK)')
    .option(
      '-f, --prompt-file <file>',
      'file with the task, at most 10 MB, read again in every iteration (- = stdin)',
    );
  taskOptions(command).option(
    '--preset <name>',
    'default, conductor, ralph-cli, architect, swarm or promise (sets other defaults, see docs/presets.md)',
  );
  agentOptions(command);
  checkOptions(command, { checkTimeout: '10m', baseline: false })
    .option(
      '--until <what>',
      'what completes the loop: both, checks or claim (default: both if there are checks, else claim)',
    )
    .option(
      '--completion-promise <text>',
      'text in <promise>…</promise> that claims completion (default DONE)',
    )
    .option(
      '-c, --completion-response <text>',
      'text in <response>…</response> that claims completion (default DONE)',
    )
    .option('--completion-tag <word>', 'word in the final answer that claims completion (default: none)')
    .option(
      '--done-pattern <regex>',
      "pattern in the agent's output that claims completion, in Python syntax (default: none)",
    )
    .option('--done-file <file>', 'file whose existence claims completion (default DONE)');
  limitOptions(command, 'Limits:', {
    maxIterations: '10',
    maxFailures: '5',
    maxUnchanged: '5',
    iterationTimeout: '2h',
    inactivityTimeout: '20m',
  });
  return viewOptions(command, json);
}

/** `ralph loop`, with the defaults of the preset `architect`. */
export function loopOptions(command: Command): Command {
  command
    .optionsGroup('Task:')
    .option('--spec <file>', 'specification that replaces TASK, read again in every iteration')
    .option('-c, --config <file>', 'YAML configuration file with a ralph_loop block');
  taskOptions(command);
  agentOptions(command);
  checkOptions(command, { checkTimeout: '2m', baseline: true }).option(
    '--completion-tag <word>',
    'word in the final answer that claims completion (default COMPLETE)',
  );
  limitOptions(command, 'Limits:', {
    maxIterations: '25',
    maxFailures: UNLIMITED,
    maxUnchanged: UNLIMITED,
    iterationTimeout: UNLIMITED,
    inactivityTimeout: UNLIMITED,
  });
  return viewOptions(command);
}

/** `ralph spawn`, with the defaults of the preset `swarm`. */
export function spawnOptions(command: Command): Command {
  command
    .optionsGroup('Task:')
    .option('-f, --prompt-file <file>', 'file with the task, read again in every iteration');
  taskOptions(command, REQUIRED)
    .option('--branch <name>', "branch of the worktree, new or existing (default: the loop's name)")
    .option('--worktree-dir <folder>', 'folder for the worktree (default: REPOSITORY-worktrees beside it)');
  command
    .optionsGroup('Background:')
    .option('--wait', 'show the loop until it ends, and exit as it does (Ctrl-C only ends the view)')
    .option('--ralph', 'the same as --wait, for command lines of document 003')
    .option('-d, --detach', 'with --ralph: return once the loop runs (without --ralph: the default)')
    .option('--no-tmux', 'open no tmux window for the loop')
    .option('--session <name>', 'tmux session for the window (default ralph)')
    .option('--tmux-socket <name>', "socket of the tmux server (default: Ralph's own)")
    .addOption(new Option('--tmux', 'implied').hideHelp())
    .addOption(new Option('--ready-wait', 'implied').hideHelp());
  agentOptions(command);
  checkOptions(command, { checkTimeout: '10m', baseline: false }).option(
    '--done-pattern <regex>',
    "pattern in the agent's output that ends the loop, in Python syntax (default: none)",
  );
  limitOptions(command, 'Limits:', {
    maxIterations: REQUIRED,
    maxFailures: '5',
    maxUnchanged: UNLIMITED,
    iterationTimeout: UNLIMITED,
    inactivityTimeout: '60s',
  });
  return viewOptions(command);
}

/** For the commands that create a loop. */
export function trustOption(command: Command): Command {
  return command
    .optionsGroup('Task:')
    .option('--trust', 'trust the settings files of the workspace as they are (the same as RALPH_TRUST=1)')
    .option('--dry-run', 'print the command, the prompt, the checks and the limits, and start nothing');
}

/** Leaves the loop in the background. */
export function detachOption(command: Command): Command {
  return command
    .optionsGroup('Background:')
    .option('-d, --detach', 'run the loop in the background, and return once it runs');
}

function taskOptions(command: Command, name = 'default: derived from the task'): Command {
  return command
    .option('--name <name>', `name of the loop (${name})`)
    .option(...repeatable('--tag <word>', 'word to find the loop by in ralph ls --tag (repeatable)'))
    .option('--fresh', 'archive an unfinished loop of the same name and start over')
    .option('--worktree', 'work in a separate git worktree, on a separate branch')
    .option('--no-worktree', 'work in the workspace (default)')
    .option('--keep-awake', 'keep the machine awake while the loop goes on by itself (default)')
    .option('--no-keep-awake', 'let the machine sleep while the loop runs')
    .option(
      '--no-child',
      'inside a run: start an unrelated loop, not a child of the loop that runs here; it counts in the same budget',
    )
    .option(...WORKSPACE);
}

function agentOptions(command: Command): Command {
  return command
    .optionsGroup('Agent:')
    .option(
      '--agent <name>',
      'claude, codex, opencode, gemini, qwen, copilot, amp or custom (see ralph agents)',
    )
    .option('--model <model>', "model for the agent (default: the agent's own)")
    .option(...repeatable('--env <key=value>', "variable for the agent's environment (repeatable)"))
    .option(...repeatable('--drop-env <key>', 'variable to hide from the agent (repeatable)'))
    .option(
      '--prompt-via <way>',
      'how the agent gets the prompt: stdin, file or argument (default: as the agent expects it)',
    )
    .option('--interactive', 'run the command as given in a tmux window, and paste the prompt into it')
    .option(
      '--ready-timeout <time>',
      'maximum time until an interactive agent is ready for its prompt (default 120s)',
    )
    .option('--sandbox', 'run the agent in a sandbox that can write only the workspace (docs/sandbox.md)')
    .option('--no-sandbox', 'run the agent without a sandbox (default)')
    .optionsGroup('Notices:')
    .option(...NOTIFY);
}

export const NOTIFY: ReturnType<typeof repeatable> = repeatable(
  '--notify <where>',
  'send notices to env:NAME, desktop, terminal, or "command …"; none for no notices (repeatable, docs/notices.md)',
);

function checkOptions(
  command: Command,
  defaults: { readonly checkTimeout: string; readonly baseline: boolean },
): Command {
  const [on, off] = defaults.baseline ? [' (default)', ''] : ['', ' (default)'];
  return command
    .optionsGroup('Checks and completion:')
    .option(
      ...repeatable('--check <command>', 'command that must exit 0 before the work is done (repeatable)'),
    )
    .option(
      '--check-timeout <time>',
      `maximum time per check (default ${defaults.checkTimeout}, 0 = unlimited)`,
    )
    .option(
      '--plan <file>',
      'plan whose items must all be done: a Markdown checklist or prd.json (docs/plans.md)',
    )
    .option('--no-plan', 'use no plan (default)')
    .option('--baseline', `run the checks once before the first iteration, to report what failed before${on}`)
    .option('--no-baseline', `do not run the checks before the first iteration${off}`)
    .option(
      ...repeatable('--protect <glob>', 'files that the agent must not change, e.g. "test/**" (repeatable)'),
    )
    .option(
      '--on-protected-change <what>',
      'after a change of a protected file: warn, reject claims, or restore the file (default warn)',
    );
}

/** The defaults that differ between the commands that start a loop. */
interface LimitDefaults {
  readonly maxIterations: string;
  readonly maxFailures: string;
  readonly maxUnchanged: string;
  readonly iterationTimeout: string;
  readonly inactivityTimeout: string;
}

/** Without `defaults` (`ralph resume`), a limit that is not given keeps its value. */
export function limitOptions(command: Command, heading: string, defaults: LimitDefaults | null): Command {
  const byDefault = (value = UNLIMITED): string => {
    if (defaults === null) return '';
    return value === REQUIRED ? ` (${REQUIRED})` : ` (default ${value})`;
  };
  const orUnlimited = (value = ''): string => {
    if (defaults === null) return ' (0 = unlimited)';
    return value === UNLIMITED ? byDefault(value) : ` (default ${value}, 0 = unlimited)`;
  };
  return command
    .optionsGroup(heading)
    .option(
      '-m, --max-iterations <number>',
      `maximum number of iterations${byDefault(defaults?.maxIterations)}`,
    )
    .addOption(new Option('--maximum-iterations <number>').hideHelp())
    .option('--max-time <time>', `maximum active time of the loop, e.g. 90s, 15m, 2h${byDefault()}`)
    .option('--max-cost <dollars>', `maximum cost of the agent in US dollars${byDefault()}`)
    .option('--max-tokens <number>', `maximum number of tokens${byDefault()}`)
    .option(
      '--max-failures <number>',
      `maximum number of consecutive failures${byDefault(defaults?.maxFailures)}`,
    )
    .option(
      '--max-limit-waits <number>',
      `maximum number of waits for a usage limit, 0 to end at the first one${byDefault()}`,
    )
    .option(
      '--max-attempts-per-item <number>',
      `maximum number of iterations per item of the plan, then it is blocked${byDefault()}`,
    )
    .option(
      '--max-unchanged <number>',
      `maximum number of consecutive iterations without progress${orUnlimited(defaults?.maxUnchanged)}`,
    )
    .option('--max-output <size>', `maximum output per run, e.g. 500k, 20m${byDefault('1g')}`)
    .option('--iteration-timeout <time>', `maximum time per run${orUnlimited(defaults?.iterationTimeout)}`)
    .option(
      '--inactivity-timeout <time>',
      `maximum time without output per run${orUnlimited(defaults?.inactivityTimeout)}`,
    )
    .option('--restart-delay <time>', `delay between iterations${byDefault('0')}`)
    .option('--kill-grace <time>', `time between SIGTERM and SIGKILL${byDefault('5s')}`)
    .option(
      '--child-wait <time>',
      `maximum wait for active children when the loop is done${byDefault('0, or 5m with --preset conductor')}`,
    )
    .option('--poll-interval <time>', `interval between two looks at these children${byDefault('1s')}`)
    .option(
      '--checkpoint-max-file <size>',
      `maximum size of an untracked file in checkpoints${byDefault('100m')}`,
    )
    .option(
      '--checkpoint-max-total <size>',
      `maximum size of all untracked files in a checkpoint${byDefault('500m')}`,
    );
}

const UNLIMITED = 'unlimited';
const REQUIRED = 'required';

export function viewOptions(
  command: Command,
  json = 'print only the final result on stdout, as JSON',
): Command {
  return command
    .optionsGroup('Output:')
    .option('-q, --quiet', 'print the final result only')
    .option('-V, --verbose', 'print more details')
    .option('--json', json)
    .option('--stream-agent-output', 'show the output of the agent (default)')
    .option('--no-stream-agent-output', 'hide the output of the agent')
    .option('--timestamps', 'start every line with the time')
    .option('--emoji', 'show emoji (default: if the terminal supports them)')
    .option('--no-emoji', 'show [OK] and [ERR] instead of emoji')
    .option('--output-lines <number>', 'maximum lines shown of the output of a tool (default 3)')
    .option('--output-chars <number>', 'maximum characters shown of each of these lines (default 120)')
    .option('--report <form>', 'write the result as json, markdown or github')
    .option('--report-file <file>', 'file for the report (default: stdout; with github, the job summary)')
    .helpOption('-h, --help', 'print this help');
}

export const WORKSPACE = ['--cwd <folder>', 'workspace folder (default: the current folder)'] as const;

/** The arguments of an option that may be given several times. It has no default value: the help would print `[]`. */
export function repeatable(
  flags: string,
  description: string,
): [string, string, (value: string, before?: readonly string[]) => readonly string[]] {
  return [flags, description, (value, before = []) => [...before, value]];
}
