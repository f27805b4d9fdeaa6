/** What helps somebody whose command line could not be understood; null where nothing more is to be said. */
export function adviceOn(code: string, words: readonly string[], hasCommand: boolean): string | null {
  const [name = '', ...rest] = words;
  if ((name !== 'run' && name !== 'loop') || rest.length < 2) return null;
  const isLong = code === 'commander.excessArguments';
  if (isLong && hasCommand) return `(Put a task of several words in quotes: ralph ${name} "fix the tests")`;
  // An agent's command may stand where our own options are read.
  if ((!isLong && code !== 'commander.optionMissingArgument') || hasCommand) return null;
  const task = isLong ? 'Put a task of several words in quotes, and the' : 'Put the';
  return `(${task} command of an agent behind --: ralph ${name} "fix the tests" -- ./my-agent)`;
}

/** For somebody who has typed nothing but the name of the program. */
export const FIRST_STEPS =
  '(For example: ralph run "fix the failing tests" --check "npm test" --agent claude; ralph --help has the rest)';
