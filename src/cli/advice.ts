/** Advice for a command line that cannot be parsed; null if the parser's own message is enough. */
export function adviceOn(code: string, words: readonly string[], hasCommand: boolean): string | null {
  const [name, ...rest] = words;
  if ((name !== 'run' && name !== 'loop') || rest.length < 2) return null;
  const hasExtraWords = code === 'commander.excessArguments';
  if (hasExtraWords && hasCommand) return `(Quote a task of several words: ralph ${name} "fix the tests")`;
  // The user may have forgotten the `--` before the agent's command.
  if ((!hasExtraWords && code !== 'commander.optionMissingArgument') || hasCommand) return null;
  const task = hasExtraWords ? 'Quote a task of several words, and put' : 'Put';
  return `(${task} the command of the agent after --: ralph ${name} "fix the tests" -- ./my-agent)`;
}

/** Printed after the error of a bare `ralph`. */
export const FIRST_STEPS =
  '(For example: ralph run "fix the failing tests" --check "npm test" --agent claude; for all commands: ralph --help)';
