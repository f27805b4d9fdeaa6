/** The commands and their options. The work of each command is in its own file, which is loaded when it is called. */
import { jsonFilesIn } from '../store/state-folder.ts';
import { loopsFolder } from '../store/store.ts';
import { Command, CommanderError, Help } from 'commander';
import type { InitOptions } from './init.ts';
import type { ResumeOptions } from './resume.ts';
import type { LoopOptions } from './loop.ts';
import type { RunOptions } from './options.ts';
import type { TrustOptions } from './trust.ts';
import { closest } from '../config/closest.ts';
import { adviceOn, FIRST_STEPS, wrongTask } from './advice.ts';
import { explainError } from './errors.ts';
import {
  limitOptions,
  loopOptions,
  repeatable,
  runOptions,
  trustOption,
  viewOptions,
  WORKSPACE,
} from './program-options.ts';
import { print, warn } from './print.ts';

/** Runs the command that the arguments name; returns the exit code. */
export async function runProgram(args: readonly string[]): Promise<number> {
  const { words, command } = splitCommand(withDefaultCommand(args));
  let code = 0;
  const program = build(words, command, (result) => {
    code = result;
  });
  const problem = wrongHelp(program, words) ?? wrongTask(words);
  if (problem !== null) {
    warn(`ralph: error: ${problem}\n`);
    return 2;
  }
  try {
    await program.parseAsync(withTaskLast(words), { from: 'user' });
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

/** `ralph help` with the name of a command that does not exist. */
function wrongHelp(program: Command, [first, name]: readonly string[]): string | null {
  if (first !== 'help' || name === undefined || name.startsWith('-')) return null;
  const known = program.commands.map((command) => command.name());
  if (known.includes(name) || name === 'help') return null;
  const near = closest(name, known);
  return `unknown command '${name}'${near === null ? '; list all with: ralph --help' : ` (did you mean ${near}?)`}`;
}

/** Adds `run` where no command is given. A single bare word is never a task, so that a typo does not start an agent. */
function withDefaultCommand(args: readonly string[]): readonly string[] {
  const [first] = args;
  if (first === undefined) return ['run'];
  if (['-h', '--help', '-v', '--version'].includes(first)) return args;
  return first.startsWith('-') || /\s/.test(first) ? ['run', ...args] : args;
}

/** Everything after `--` is the agent's command, word for word. */
function splitCommand(args: readonly string[]): { words: readonly string[]; command: readonly string[] } {
  const at = args.indexOf('--');
  return at < 0 ? { words: args, command: [] } : { words: args.slice(0, at), command: args.slice(at + 1) };
}

/** Moves a task that looks like a list or front matter to the end, where the parser does not take it for an option. */
function withTaskLast(words: readonly string[]): readonly string[] {
  const isTask = (word: string, index: number): boolean =>
    /^(?:-{1,2}\s|---)/.test(word) && words[index - 1]?.startsWith('-') === false;
  const at = words.findIndex(isTask);
  return at < 0 ? words : [...words.toSpliced(at, 1), '--', words[at] ?? ''];
}

type Done = (code: number) => void;

/** Adds a command to the program. */
type Add = (name: string, description: string) => Command;

/** The arguments, as far as the definition of a command depends on them. */
interface Call {
  /** What follows `--`. */
  readonly command: readonly string[];
  /** Whether this command is called. Only then it gets its long list of options: defining them takes time. */
  readonly isCalled: (name: string) => boolean;
  readonly done: Done;
}

function build(given: readonly string[], command: readonly string[], done: Done): Command {
  const called = given.find((word) => !word.startsWith('-'));
  const call: Call = { command, done, isCalled: (name) => called === name || called === 'help' };
  const program = new Command('ralph')
    .description(
      'Runs a coding agent again and again, each time with a fresh context, until the work is verifiably done.',
    )
    .option('-v, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .showSuggestionAfterError()
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: print,
      writeErr: warn,
      outputError: (text, write) => write(`ralph: ${text.trimEnd()}\n`),
    });
  // Without `[options]`, which only some commands have before they are called.
  const help = new Help();
  program.configureHelp({
    subcommandTerm: (one) => help.subcommandTerm(one).replace(' [options]', ''),
  });
  program.addHelpText('after', HELP);
  program.hook('preAction', moveOldLoops);
  program.hook('preAction', async (_, action) => {
    const { refuseFromInside } = await import('./from-inside.ts');
    refuseFromInside({ name: nameOf(action), args: action.args, options: action.opts() });
  });
  const add: Add = (name, description) => program.command(name).description(description);

  program.commandsGroup('Run loops:');
  startCommands(add, call);
  program.commandsGroup('Inspect loops:');
  viewCommands(add, call);
  program.commandsGroup('Control loops:');
  controlCommands(add, call);
  program.commandsGroup('Set up:');
  setupCommands(add, call);
  program.commandsGroup('Learn:');
  demoCommand(add, call);
  program.helpCommand('help [command]', 'print the help of a command');
  return program;
}

/** Moves the loops of an earlier version to the state folder, where every command looks for them. */
async function moveOldLoops(): Promise<void> {
  if (jsonFilesIn(loopsFolder()).length > 0) await (await import('../store/old-layout.ts')).moveOldLoops();
}

/** The words of a command without `ralph`. */
function nameOf(command: Command): string {
  const { parent } = command;
  return parent === null || parent.parent === null ? command.name() : `${nameOf(parent)} ${command.name()}`;
}

/** The words of all commands. */
export function commandNames(): readonly string[] {
  const leaves = (command: Command): readonly string[] =>
    command.commands.length === 0 ? [nameOf(command)] : command.commands.flatMap(leaves);
  return leaves(build(['help'], [], () => {}));
}

function startCommands(add: Add, { command, isCalled, done }: Call): void {
  const run = add('run [task]', 'run an agent until done (the default command)');
  if (isCalled('run')) trustOption(runOptions(run));
  run
    .usage('[TASK] [options] [-- COMMAND…]')
    .action(async (task: string | undefined, options: RunOptions) => {
      const { runLoop } = await import('./run.ts');
      done(await runLoop(task ?? null, options, command));
    });

  const loop = add(
    'loop [task]',
    'run an agent until every check passes and the agent prints the completion word (for CI)',
  );
  if (isCalled('loop')) trustOption(loopOptions(loop));
  loop
    .usage('TASK --check COMMAND [options] [-- COMMAND…]')
    .action(async (task: string | undefined, options: LoopOptions) => {
      const { loop: start } = await import('./loop.ts');
      done(await start(task ?? null, options, command));
    });

  const resume = add('resume <name>', 'resume a loop that was paused, stopped, crashed or hit a limit');
  if (isCalled('resume')) {
    resume
      .option('--now', 'do not wait for a usage limit to reset')
      .option(...repeatable('--env <key=value>', "variable for the agent's environment (repeatable)"))
      .option(...WORKSPACE);
    viewOptions(limitOptions(resume, 'New limits (default: unchanged):', null));
  }
  resume.action(async (name: string, options: ResumeOptions) => {
    const { resumeLoop } = await import('./resume.ts');
    done(await resumeLoop(name, options));
  });
}

function viewCommands(add: Add, { done }: Call): void {
  add('status [name]', 'show the state of one loop, or of all loops in the workspace')
    .option('--json', 'print JSON')
    .option(...WORKSPACE)
    .action(async (name: string | undefined, options: object) => {
      const { status } = await import('./status.ts');
      done(await status(name ?? null, options));
    });

  add('ls', 'list the loops of the workspace')
    .option('-a, --all', 'list the loops of all workspaces')
    .option('--json', 'print JSON')
    .option(...WORKSPACE)
    .action(async (options: object) => {
      const { ls } = await import('./ls.ts');
      done(ls(options));
    });

  add('logs <name>', 'print what the agent of a loop said and did')
    .option('-f, --follow', 'keep printing new output until the loop ends')
    .option('--run <number>', 'iteration, or run of an iteration (7 or 7.2; default: the last)')
    .option('--stderr', 'print stderr instead of stdout')
    .option('--raw', 'print the output unparsed')
    .option('-V, --verbose', 'also print what the agent thinks')
    .option(...WORKSPACE)
    .action(async (name: string, options: object) => {
      const { logs } = await import('./logs.ts');
      done(await logs(name, options));
    });

  add('story <name>', 'tell what Ralph did in a loop: iterations, checks, claims, waits and commits')
    .option('--since <time>', 'only the last part, for example 2h or 30m')
    .option('--iteration <number>', 'only this iteration')
    .option('--json', 'print one JSON object per line')
    .option('-V, --verbose', 'also print checkpoints and processes')
    .option(...WORKSPACE)
    .action(async (name: string, options: object) => {
      const { story } = await import('./story.ts');
      done(story(name, options));
    });

  add('diff <name> [what]', 'show what a loop changed: in total, in iteration N, or from A to B (A..B)')
    .option('--stat', 'print the number of changed lines per file')
    .option(...WORKSPACE)
    .action(async (name: string, what: string | undefined, options: object) => {
      const { diff } = await import('./diff.ts');
      done(await diff(name, what ?? null, options));
    });
}

function controlCommands(add: Add, { isCalled, done }: Call): void {
  add('pause <name>', 'pause a loop after the running iteration')
    .option(...WORKSPACE)
    .action(async (name: string, options: object) => {
      const { pause } = await import('./control.ts');
      done(await pause(name, options));
    });
  add('stop <name>', 'stop a loop after the running step')
    .option('--now', 'stop the running step too')
    .option(...WORKSPACE)
    .action(async (name: string, options: object) => {
      const { stop } = await import('./control.ts');
      done(await stop(name, options));
    });
  add('tell <name> <words...>', "add words to the agent's next prompt")
    .option(...WORKSPACE)
    .action(async (name: string, words: readonly string[], options: object) => {
      const { tell } = await import('./control.ts');
      done(await tell(name, words.join(' '), options));
    });
  add('set <name> <settings...>', 'change the limits of a loop: max-iterations=20 max-time=2h …')
    .option(...WORKSPACE)
    .action(async (name: string, settings: readonly string[], options: object) => {
      const { set } = await import('./control.ts');
      done(await set(name, settings, options));
    });
  add('rewind <name> <checkpoint>', 'restore the files as they were after iteration N, or at the start')
    .option(...WORKSPACE)
    .action(async (name: string, checkpoint: string, options: object) => {
      const { rewind } = await import('./rewind.ts');
      done(await rewind(name, checkpoint, options));
    });
  add('rm [name]', 'remove a loop and its logs')
    .option('--gone', 'remove the loops of all workspaces that are gone')
    .option(...WORKSPACE)
    .action(async (name: string | undefined, options: object) => {
      const { rm } = await import('./rm.ts');
      done(await rm(name ?? null, options));
    });
  add('move <old-folder>', 'take the loops of a workspace that was moved along to this one')
    .option(...WORKSPACE)
    .action(async (from: string, options: object) => {
      const { move } = await import('./move.ts');
      done(await move(from, options));
    });
  const worktree = add('worktree', 'list, merge or remove the worktrees of loops');
  if (isCalled('worktree')) worktreeCommands(worktree, done);
}

function worktreeCommands(worktree: Command, done: Done): void {
  const add: Add = (name, description) => worktree.command(name).description(description);
  worktree.helpCommand('help [command]', 'print the help of a command');
  add('ls', 'list the worktrees of the loops of the workspace')
    .option('--json', 'print JSON')
    .option(...WORKSPACE)
    .action(async (options: object) => {
      const { listTrees } = await import('./worktree.ts');
      done(await listTrees(options));
    });
  add('merge <name>', "merge a loop's branch into the current branch, if the checks pass on the result")
    .option('--no-checks', 'merge without running setup and checks')
    .option(...WORKSPACE)
    .action(async (name: string, options: { readonly checks: boolean }) => {
      const { mergeTree } = await import('./worktree.ts');
      done(await mergeTree(name, options));
    });
  add('rm <name>', "remove a loop's worktree and branch; keep the loop and its logs")
    .option('--force', 'discard work that exists nowhere else')
    .option(...WORKSPACE)
    .action(async (name: string, options: object) => {
      const { removeTree } = await import('./worktree.ts');
      done(await removeTree(name, options));
    });
}

function setupCommands(add: Add, { isCalled, done }: Call): void {
  add('init', 'write the settings of the workspace, from what it contains and what you answer')
    .option('-y, --yes', 'ask nothing; use what is found')
    .option('--force', 'replace existing settings (a backup is kept)')
    .option(
      '--preset <name>',
      'preset to write into the settings (ralph-cli also uses the names of document 001)',
    )
    .option(...WORKSPACE)
    .action(async (options: InitOptions) => {
      const { init } = await import('./init.ts');
      done(await init(options));
    });
  add('trust', 'trust the settings files of the workspace, as they are now')
    .option('--show', 'show what they would run, and whether they are trusted')
    .option('--revoke', 'trust them no longer')
    .option(...WORKSPACE)
    .action(async (options: TrustOptions) => {
      const { trust } = await import('./trust.ts');
      done(await trust(options));
    });
  const config = add('config', 'show the settings in effect, with the origin of each');
  if (isCalled('config')) runOptions(config, 'print JSON');
  config.action(async (options: RunOptions) => {
    const { config: show } = await import('./config.ts');
    done(await show(options));
  });
  add('agents', 'list the supported agents: installed version and command line')
    .option('--json', 'print JSON')
    .action(async (options: object) => {
      const { agents } = await import('./agents.ts');
      done(await agents(options));
    });
  add('doctor', 'check what loops need: agents, git, writable folders')
    .option('--json', 'print JSON')
    .action(async (options: object) => {
      const { doctor } = await import('./doctor.ts');
      done(await doctor(options));
    });
}

function demoCommand(add: Add, { done }: Call): void {
  add('demo', 'run a demo loop in a temporary repository (takes seconds, needs no account)').action(
    async () => {
      const { demo } = await import('./demo.ts');
      done(await demo());
    },
  );
}

const HELP = `
Examples:
  ralph demo
  ralph init
  ralph run "fix the failing tests" --check "npm test" --agent claude
  ralph run -f PROMPT.md --check "cargo test" -m 20 --agent codex --model gpt-5.5
  ralph run -f PROMPT.md --check "make test" -- ./my-agent --its-own flags
  ralph status            ralph logs NAME -f           ralph resume NAME
  ralph story NAME        ralph diff NAME              ralph stop NAME

Exit codes: 0 done, 1 limit reached, 2 invalid input, 3 unrecoverable error,
            4 paused or waiting for a person, 130 stopped, 143 terminated`;
