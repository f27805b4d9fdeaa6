/** The commands and their options. Each command's work is in a file of its own, loaded when it is called. */
import { Command, CommanderError, Option } from 'commander';
import type { InitOptions } from './init.ts';
import type { ResumeOptions } from './resume.ts';
import type { LoopOptions } from './loop.ts';
import type { RunOptions } from './options.ts';
import { adviceOn, FIRST_STEPS } from './advice.ts';
import { explainError } from './errors.ts';
import { print, warn } from './print.ts';

/** Runs the command that the arguments name and tells what to exit with. */
export async function runProgram(args: readonly string[]): Promise<number> {
  const { words, command } = splitCommand(withDefaultCommand(args));
  let code = 0;
  const program = build(words, command, (result) => {
    code = result;
  });
  try {
    await program.parseAsync(words, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      const advice = adviceOn(error.code, words, command.length > 0);
      if (advice !== null) warn(`${advice}\n`);
      return 2;
    }
    const failed = explainError(error);
    if (args.length === 0) warn(`${FIRST_STEPS}\n`);
    return failed;
  }
}

/** Without a command it is `run`; a bare word never is a task, so that a typo starts no agent. */
function withDefaultCommand(args: readonly string[]): readonly string[] {
  const [first] = args;
  if (first === undefined) return ['run'];
  if (['-h', '--help', '-v', '--version'].includes(first)) return args;
  return first.startsWith('-') || /\s/.test(first) ? ['run', ...args] : args;
}

/** What stands behind `--` is the agent's command, word for word. */
function splitCommand(args: readonly string[]): { words: readonly string[]; command: readonly string[] } {
  const at = args.indexOf('--');
  return at < 0 ? { words: args, command: [] } : { words: args.slice(0, at), command: args.slice(at + 1) };
}

type Done = (code: number) => void;

/** The program; of its commands only the one that is called gets its options, since they take their time. */
function build(given: readonly string[], command: readonly string[], done: Done): Command {
  const called = given.find((word) => !word.startsWith('-'));
  const isCalled = (name: string): boolean => called === name || called === 'help';
  const program = new Command('ralph')
    .description(
      'Runs a coding agent again and again, each time with a fresh context, until the work is verifiably done.',
    )
    .option('-v, --version', 'print the version')
    .showSuggestionAfterError()
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: print,
      writeErr: warn,
      outputError: (text, write) => write(`ralph: ${text.trimEnd()}\n`),
    });
  program.addHelpText('after', HELP);

  const add = (name: string, description: string): Command =>
    program.command(name).description(description).exitOverride().showSuggestionAfterError();

  const run = add('run [task]', 'run an agent until the work is done (the default command)');
  if (isCalled('run')) runOptions(run);
  run.usage('[TASK] [options] -- COMMAND…').action(async (task: string | undefined, options: RunOptions) => {
    const { runLoop } = await import('./run.ts');
    done(await runLoop(task ?? null, options, command));
  });

  const loop = add(
    'loop [task]',
    'run an agent until every check passes and it says the word (for CI; no limit cuts a run short but --iteration-timeout)',
  );
  if (isCalled('loop')) loopOptions(loop);
  loop
    .usage('TASK --check COMMAND [options] -- COMMAND…')
    .action(async (task: string | undefined, options: LoopOptions) => {
      const { loop: start } = await import('./loop.ts');
      done(await start(task ?? null, options, command));
    });

  const resume = add(
    'resume <name>',
    'go on with a loop that was paused, stopped, crashed or is out of something',
  );
  if (isCalled('resume')) limitOptions(viewOptions(resume));
  resume
    .option('--now', 'do not wait for a usage limit to reset')
    .option('--env <key=value>', "adds to the agent's environment (repeatable)", collect, [])
    .option('--cwd <folder>', 'the workspace')
    .action(async (name: string, options: ResumeOptions) => {
      const { resumeLoop } = await import('./resume.ts');
      done(await resumeLoop(name, options));
    });

  add('status [name]', 'show what a loop does, or all loops here')
    .option('--json', 'as JSON')
    .option('--cwd <folder>', 'the workspace')
    .action(async (name: string | undefined, options: object) => {
      const { status } = await import('./status.ts');
      done(status(name ?? null, options));
    });

  add('ls', 'list the loops of this workspace')
    .option('-a, --all', 'of all workspaces')
    .option('--json', 'as JSON')
    .option('--cwd <folder>', 'the workspace')
    .action(async (options: object) => {
      const { ls } = await import('./ls.ts');
      done(ls(options));
    });

  add('logs <name>', "print what a loop's agent said")
    .option('-f, --follow', 'go on as it comes')
    .option('--run <number>', 'of this iteration, or run (7 or 7.2), instead of the last')
    .option('--stderr', 'what it complained of')
    .option('--raw', 'its stream as it is, where ralph can read it')
    .option('-V, --verbose', 'also what it thinks')
    .option('--cwd <folder>', 'the workspace')
    .action(async (name: string, options: object) => {
      const { logs } = await import('./logs.ts');
      done(await logs(name, options));
    });

  add('diff <name> [what]', 'show what a loop has changed until now, in iteration N, or between two (A..B)')
    .option('--stat', 'how much of each file, instead of the lines')
    .option('--cwd <folder>', 'the workspace')
    .action(async (name: string, what: string | undefined, options: object) => {
      const { diff } = await import('./diff.ts');
      done(await diff(name, what ?? null, options));
    });
  add('rewind <name> <checkpoint>', 'make the files again what they were after iteration N, or at the start')
    .option('--cwd <folder>', 'the workspace')
    .action(async (name: string, checkpoint: string, options: object) => {
      const { rewind } = await import('./rewind.ts');
      done(await rewind(name, checkpoint, options));
    });

  const control = (name: string, description: string): Command =>
    add(name, description).option('--cwd <folder>', 'the workspace');

  control('pause <name>', 'start nothing after the running iteration').action(
    async (name: string, options: object) => {
      const { pause } = await import('./control.ts');
      done(await pause(name, options));
    },
  );
  control('stop <name>', 'end a loop after the running step')
    .option('--now', 'in the middle of it')
    .action(async (name: string, options: object) => {
      const { stop } = await import('./control.ts');
      done(await stop(name, options));
    });
  control('tell <name> <words...>', "put words into the agent's next prompt").action(
    async (name: string, words: readonly string[], options: object) => {
      const { tell } = await import('./control.ts');
      done(await tell(name, words.join(' '), options));
    },
  );
  control('set <name> <settings...>', 'change limits: max-iterations=20 max-time=2h …').action(
    async (name: string, settings: readonly string[], options: object) => {
      const { set } = await import('./control.ts');
      done(await set(name, settings, options));
    },
  );
  control('rm <name>', 'remove a loop and its logs').action(async (name: string, options: object) => {
    const { rm } = await import('./rm.ts');
    done(await rm(name, options));
  });
  const worktree = add('worktree', 'list the worktrees of loops; merge or remove one');
  if (isCalled('worktree')) worktreeCommands(worktree, done);
  add('init', 'write the settings of this workspace: looks around, then asks')
    .option('-y, --yes', 'ask nothing and take what is found')
    .option('--force', 'replace settings that are there; the old ones are kept beside them')
    .option(
      '--preset <name>',
      'preset to write into the settings; ralph-cli writes the names of document 001',
    )
    .option('--cwd <folder>', 'the workspace')
    .action(async (options: InitOptions) => {
      const { init } = await import('./init.ts');
      done(await init(options));
    });
  const config = add('config', 'show the settings that hold here, with the origin of each');
  if (isCalled('config')) runOptions(config);
  config.action(async (options: RunOptions) => {
    const { config: show } = await import('./config.ts');
    done(await show(options));
  });
  add('agents', 'list the agents that ralph knows: installed? which version? how are they called?')
    .option('--json', 'as JSON')
    .action(async (options: object) => {
      const { agents } = await import('./agents.ts');
      done(await agents(options));
    });
  add('doctor', 'try out what a loop needs: the agents that are installed, git, a folder to write to')
    .option('--json', 'as JSON')
    .action(async (options: object) => {
      const { doctor } = await import('./doctor.ts');
      done(await doctor(options));
    });
  add('demo', 'see a whole loop at work in a throwaway repository, in seconds and without an account').action(
    async () => {
      const { demo } = await import('./demo.ts');
      done(await demo());
    },
  );
  return program;
}

function worktreeCommands(worktree: Command, done: Done): void {
  const add = (name: string, description: string): Command =>
    worktree.command(name).description(description).option('--cwd <folder>', 'the workspace');
  add('ls', 'list the worktrees of the loops of this workspace')
    .option('--json', 'as JSON')
    .action(async (options: object) => {
      const { listTrees } = await import('./worktree.ts');
      done(await listTrees(options));
    });
  add(
    'merge <name>',
    'merge its branch into the one that is checked out here, if the checks pass on the result',
  )
    .option('--no-checks', 'run neither set-up nor checks on it')
    .action(async (name: string, options: { readonly checks: boolean }) => {
      const { mergeTree } = await import('./worktree.ts');
      done(await mergeTree(name, options));
    });
  add('rm <name>', 'remove the worktree and its branch; the loop and its logs stay')
    .option('--force', 'with all work in it that is nowhere else')
    .action(async (name: string, options: object) => {
      const { removeTree } = await import('./worktree.ts');
      done(await removeTree(name, options));
    });
}

function runOptions(command: Command): Command {
  return workOptions(command)
    .option('-p, --prompt <text>', 'what to do')
    .option(
      '-f, --prompt-file <file>',
      'a file that says what to do, read anew in every iteration; - is the standard input',
    )
    .option('--preset <name>', 'default, conductor, ralph-cli, architect, swarm or promise')
    .option('-c, --completion-response <text>', 'what <response>…</response> must say')
    .option('--completion-promise <text>', 'what <promise>…</promise> must say')
    .option('--done-pattern <regex>', "a pattern (Python's syntax) in the agent's words that says it is done")
    .option('--done-file <file>', 'a file whose presence says it is done')
    .option('--until <what>', 'what completes the loop: both (if there are checks), checks or claim')
    .addOption(new Option('--owner <folder>', 'drive the loop in this folder').hideHelp());
}

function loopOptions(command: Command): Command {
  return workOptions(command)
    .option('--spec <file>', 'a specification in place of the task, read anew in every iteration')
    .option('-c, --config <file>', 'a configuration file in YAML, with a block ralph_loop');
}

/** What every command has that starts a loop. */
function workOptions(command: Command): Command {
  return limitOptions(viewOptions(command))
    .option('--name <name>', 'what to call the loop')
    .option(
      '--agent <name>',
      'claude, codex, opencode, gemini, qwen, copilot, amp or custom (ralph agents lists them)',
    )
    .option('--model <model>', 'the model that the agent uses')
    .option('--env <key=value>', "adds to the agent's environment (repeatable)", collect, [])
    .option('--drop-env <key>', 'a variable that the agent does not get to see (repeatable)', collect, [])
    .option('--prompt-via <way>', 'how the prompt reaches the agent: stdin, file or argument')
    .option('--check <command>', 'must exit 0 before the work counts as done (repeatable)', collect, [])
    .option('--check-timeout <time>', 'the time one check may take')
    .option('--baseline', 'run the checks once before the first iteration, to know what was red before')
    .option('--no-baseline', 'do not')
    .option('--completion-tag <word>', 'a word in the final answer that says it is done')
    .option('--worktree', 'work in a git worktree of its own, on a branch of its own')
    .option('--no-worktree', 'work in the workspace (the default)')
    .option('--fresh', 'put an unfinished loop of the same name aside')
    .option('--cwd <folder>', 'the workspace');
}

function limitOptions(command: Command): Command {
  return command
    .option('-m, --max-iterations <number>', 'the most iterations')
    .addOption(new Option('--maximum-iterations <number>', 'the same').hideHelp())
    .option('--max-time <time>', 'the time the loop may be at work (90, 90s, 15m, 2h)')
    .option('--max-failures <number>', 'failed runs in a row')
    .option('--max-cost <dollars>', 'what the agent may spend')
    .option('--max-tokens <number>', 'the tokens that the agent may use')
    .option('--max-output <size>', 'bytes that one run may print (500k, 20m, 1g)')
    .option('--iteration-timeout <time>', 'the time one run may take; 0 for any')
    .option('--inactivity-timeout <time>', 'the time a run may be silent; 0 for any')
    .option('--restart-delay <time>', 'the time between two iterations')
    .option('--kill-grace <time>', 'the time an agent gets to end by itself');
}

function viewOptions(command: Command): Command {
  return command
    .option('-q, --quiet', 'print the final result only')
    .option('-V, --verbose', 'print more of what is going on')
    .option('--json', 'print one JSON record at the end, and nothing else, on the standard output')
    .option('--stream-agent-output', 'show what the agent says (the default)')
    .option('--no-stream-agent-output', 'do not show it')
    .option('--timestamps', 'the time in front of every line')
    .option('--emoji', 'show emoji (where the terminal has them, they are shown anyway)')
    .option('--no-emoji', 'show [OK] and [ERR] instead')
    .option('--output-lines <number>', "lines of a tool's output (3)")
    .option('--output-chars <number>', 'characters of each of them (120)')
    .option('--report <form>', 'the result for others: json, markdown or github')
    .option('--report-file <file>', 'where it goes instead of the standard output');
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

const HELP = `
Examples:
  ralph demo
  ralph init
  ralph run "fix the failing tests" --check "npm test" --agent claude
  ralph run -f PROMPT.md --check "cargo test" -m 20 --agent codex --model gpt-5.5
  ralph run -f PROMPT.md --check "make test" -- ./my-agent --its-own flags
  ralph status            ralph logs NAME -f           ralph resume NAME

Exit codes: 0 done or paused, 1 a limit was reached, 2 bad input, 3 cannot go on, 130 stopped`;
