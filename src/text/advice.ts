import type { Command, CommanderError } from 'commander';

/** Advice for a command line that cannot be parsed; null if the parser's own message is enough. */
export function adviceOn(code: string, words: readonly string[], hasCommand: boolean): string | null {
  const [name, ...rest] = words;
  const task = code === 'commander.unknownOption' && name === 'run' ? rest.find(isSentence) : undefined;
  if (task !== undefined) return `(To pass a task that begins with -, use: ralph run -p ${quoted(task)})`;
  if (name === undefined || !STARTS.has(name) || rest.length < 2) return null;
  const hasExtraWords = code === 'commander.excessArguments';
  const check = unquotedCheck(rest);
  if (hasExtraWords && check !== null) return `(Quote a check of several words: --check "${check}")`;
  if (hasExtraWords && hasCommand) return `(Quote a task of several words: ralph ${name} "fix the tests")`;
  // The user may have forgotten the `--` before the agent's command.
  if ((!hasExtraWords && code !== 'commander.optionMissingArgument') || hasCommand) return null;
  const advice = hasExtraWords ? 'Quote a task of several words, and put' : 'Put';
  return `(${advice} the command of the agent after --: ralph ${name} "fix the tests" -- ./my-agent)`;
}

/**
 * What the named command expects, where the parser's own message only says what is wrong; null where it says more. The help of `paged`
 * commands has a first page, and one with everything.
 */
export function usageFor(
  { code, message }: CommanderError,
  program: Command,
  words: readonly string[],
  paged: readonly string[],
): string | null {
  if (message.includes('(Did you mean')) return null;
  let [command, path] = [program, 'ralph'];
  for (const word of words) {
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined) break;
    [command, path] = [next, `${path} ${word}`];
  }
  const isPaged = path === 'ralph' || paged.includes(path.slice('ralph '.length));
  const help = isPaged ? path.replace(/^ralph/, 'ralph help').concat(' --all') : `${path} --help`;
  switch (code) {
    case 'commander.missingArgument':
    case 'commander.excessArguments':
      return `(Usage: ${path} ${command.usage()})`;
    case 'commander.unknownCommand':
      return `(List the commands with: ${help})`;
    case 'commander.unknownOption':
      return `(List the options with: ${help})`;
    default:
      return null;
  }
}

/** The commands that take a task and the command of an agent. */
const STARTS: ReadonlySet<string> = new Set(['run', 'loop', 'spawn']);

/** Options have no spaces before their value. */
function isSentence(word: string): boolean {
  return /^-[^=\s]*\s/.test(word);
}

/** The task in the quotes of a shell; a long one only by its name. */
function quoted(task: string): string {
  return task.length > 60 || task.includes("'") ? '"$TASK"' : `'${task}'`;
}

/** What is wrong with a task that follows a check without quotes; null if nothing is. */
export function wrongTask([name, ...rest]: readonly string[]): string | null {
  const check = name !== undefined && STARTS.has(name) ? unquotedCheck(rest) : null;
  // A single word after such a program is more likely a part of the check than a task.
  const [program = '', task = '', ...more] = check?.split(' ') ?? [];
  return check === null || more.length > 0 || !NEEDS_MORE_WORDS.has(program)
    ? null
    : `the task ${JSON.stringify(task)} follows --check ${program}: quote a check of several words (--check "${check}"), or put the task first`;
}

/** Programs that check nothing without a further word: `npm`, but not `make` or `true`. */
const NEEDS_MORE_WORDS: ReadonlySet<string> = new Set(
  'npm npx pnpm yarn bun bunx deno node tsx go cargo python python3 uv poetry bundle ruby php composer dotnet mix docker git'.split(
    ' ',
  ),
);

/** A check that was given without quotes, with the bare words after it: `--check npm test`; null if there is none. */
function unquotedCheck(words: readonly string[]): string | null {
  const at = words.findIndex((word) => word === '--check' || word.startsWith('--check='));
  const isSeparate = words[at] === '--check';
  const value = isSeparate ? words[at + 1] : words[at]?.slice('--check='.length);
  if (at < 0 || value === undefined || /\s/.test(value)) return null;
  const more = words.slice(at + (isSeparate ? 2 : 1));
  const end = more.findIndex((word) => word.startsWith('-') || /\s/.test(word));
  const rest = end < 0 ? more : more.slice(0, end);
  return rest.length === 0 ? null : [value, ...rest].join(' ');
}
