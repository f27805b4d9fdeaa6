/** The commands and their options. The work of each command is in its own file, which is loaded when it is called. */
import { Command, CommanderError, Help } from 'commander';
import { adviceOn, usageFor, wrongTask } from '../text/advice.ts';
import { explainError } from './errors.ts';
import { SETTING_OPTIONS } from './option-rows.ts';
import type { Add, Call, Done, OptionHelp } from './program-call.ts';
import { backgroundCommands } from './program-background.ts';
import { busCommands } from './program-bus.ts';
import { controlCommands } from './program-control.ts';
import { hookCommands } from './program-hook.ts';
import { skillCommand } from './program-learn.ts';
import { demoCommand, setupCommands } from './program-setup.ts';
import { documentedCommands } from './program-ralph.ts';
import { startCommands } from './program-start.ts';
import { wakeDaemon } from '../background/background.ts';
import { viewCommands } from './program-view.ts';
import { print, terminalWidth, warn } from './print.ts';

/** Runs the command that the arguments name; returns the exit code. */
export async function runProgram(args: readonly string[]): Promise<number> {
  const { words: given, command } = splitCommand(withDefaultCommand(args));
  const isWhole = asksForHelp(given) && given.includes('--all');
  const words = isWhole ? given.filter((word) => word !== '--all') : given;
  const help = args.length === 0 || asksForHelp(words) ? await import('./help.ts') : null;
  let code = 0;
  const program = define(words, command, help?.optionHelp(isWhole) ?? null, (result) => {
    code = result;
  });
  const firstPage = (): string => help?.firstPage(program, Math.min(80, terminalWidth())) ?? '';
  if (isWhole) program.addHelpText('after', HELP);
  else program.configureHelp({ formatHelp: firstPage });
  const problem = wrongHelp(words) ?? wrongTask(words);
  if (problem !== null) {
    warn(`ralph: error: ${problem}\n`);
    return codeFor(words, 2);
  }
  try {
    const topic = topicOf(program, words);
    if (topic !== null) {
      const { helpOn } = await import('./pages.ts');
      return await helpOn(topic, commandsOf(program));
    }
    await program.parseAsync(withTaskLast(words), { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      const advice =
        adviceOn(error.code, words, command.length > 0) ?? usageFor(error, program, words, SETTING_OPTIONS);
      if (advice !== null) warn(`${advice}\n`);
      return codeFor(words, 2);
    }
    const failed = explainError(error);
    if (args.length === 0) warn(`\n${firstPage()}`);
    return codeFor(words, failed);
  }
}

function asksForHelp([first, ...rest]: readonly string[]): boolean {
  return first === 'help' || [first, ...rest].some((word) => word === '-h' || word === '--help');
}

/** The exit code of an error: in document 003, every error of `spawn` and of `ralph ralph` exits with 1. */
function codeFor([name]: readonly string[], code: number): number {
  return name === 'spawn' || name === 'ralph' ? 1 : code;
}

/** An option that `ralph help` does not have. */
function wrongHelp([first, ...rest]: readonly string[]): string | null {
  const option = first === 'help' ? rest.find((word) => /^-(?!h$|-help$)/.test(word)) : undefined;
  return option === undefined ? null : `unknown option '${option}' of ralph help; it has only --all`;
}

/** What `ralph help` is asked for, if it is no command: the topic of a page. */
function topicOf(program: Command, [first, name]: readonly string[]): string | null {
  if (first !== 'help' || name === undefined || name.startsWith('-')) return null;
  return name === 'help' || commandsOf(program).includes(name) ? null : name;
}

function commandsOf({ commands }: Command): readonly string[] {
  return commands.flatMap((command) => [command.name(), ...command.aliases()]);
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

/** The parser for a command line. */
function define(
  given: readonly string[],
  command: readonly string[],
  help: OptionHelp | null,
  done: Done,
): Command {
  const called = given.find((word) => !word.startsWith('-'));
  const call: Call = { command, help, done, isCalled: (name) => called === name || called === 'help' };
  const program = new Command('ralph')
    .description(
      'Runs a coding agent again and again, each time with a fresh context, until the work is verifiably done.',
    )
    .option('-v, --version', 'print the version')
    .usage('[COMMAND] [options]')
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
  const usual = new Help();
  program.configureHelp({
    subcommandTerm: (one) => usual.subcommandTerm(one).replace(' [options]', ''),
  });
  program.hook('preAction', async (_, action) => {
    const { refuseFromInside } = await import('./from-inside.ts');
    await refuseFromInside({ name: nameOf(action), args: action.args, options: action.opts() });
  });
  program.hook('preAction', async (_, action) => {
    if (!NEEDS_NO_DAEMON.test(nameOf(action))) await wakeDaemon();
  });
  // A loop may have ended before its notices were sent.
  program.hook('postAction', async (_, action) => {
    if (!NEEDS_NO_DAEMON.test(nameOf(action))) await wakeDaemon();
  });
  const add: Add = (name, description) => program.command(name).description(description);

  program.commandsGroup('Run loops:');
  startCommands(add, call);
  program.commandsGroup('Inspect loops:');
  viewCommands(add, call);
  program.commandsGroup('Control loops:');
  controlCommands(add, call);
  busCommands(add, call);
  program.commandsGroup('Loops in the background:');
  backgroundCommands(add, call);
  program.commandsGroup('Set up:');
  setupCommands(add, call);
  hookCommands(add, call);
  program.commandsGroup('Learn:');
  demoCommand(add, call);
  skillCommand(add, call);
  documentedCommands(program, call);
  program.command('complete', { hidden: true }).action(async () => {
    const [{ complete }, { optionHelp }] = await Promise.all([import('./complete.ts'), import('./help.ts')]);
    done(
      await complete(
        command,
        define(['help'], [], optionHelp(true), () => {}),
      ),
    );
  });
  program.helpCommand('help [topic]', 'print the help of a command, or a page: ralph help topics');
  return program;
}

/** A command that concerns the daemon itself, or that a shell calls at every Tab. */
const NEEDS_NO_DAEMON = /^(?:daemon|service|complete)\b/;

/** The words of a command without `ralph`. */
function nameOf(command: Command): string {
  const { parent } = command;
  return parent === null || parent.parent === null ? command.name() : `${nameOf(parent)} ${command.name()}`;
}

/** The words of all commands. */
export function commandNames(): readonly string[] {
  return [...commandOptions().keys()];
}

/** The options of all commands, by the words of the command. */
export function commandOptions(): ReadonlyMap<string, readonly string[]> {
  const leaves = (command: Command): readonly Command[] =>
    command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
  return new Map(
    leaves(define(['help'], [], null, () => {})).map((one) => [
      nameOf(one),
      [...flagsOf(one), '-h', '--help'],
    ]),
  );
}

function flagsOf({ options }: Command): readonly string[] {
  return options.flatMap(({ short, long }) => [short, long].filter((flag) => flag !== undefined));
}

const HELP = `
Examples:
  ralph demo
  ralph init
  ralph run "fix the failing tests" --check "npm test" --agent claude
  ralph run -f PROMPT.md --check "cargo test" -m 20 --agent codex
  ralph run -f PROMPT.md --check "make test" -- ./my-agent --its-own flags
  ralph run -d "…"        ralph attach NAME            ralph ls
  ralph status            ralph logs NAME -f           ralph resume NAME
  ralph story NAME        ralph diff NAME              ralph stop NAME

Exit codes: 0 done, 1 limit reached, 2 invalid input, 3 unrecoverable error,
            4 paused or waiting for a person, 130 stopped, 143 terminated`;
