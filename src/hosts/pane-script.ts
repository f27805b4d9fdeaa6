import type { Environment } from '../process/process.ts';

/**
 * The script that tmux starts in a pane. It replaces itself with a program that has exactly the given environment, and the
 * variables that describe the terminal. The environment may be larger than a command of tmux, and must not be seen in the
 * list of processes, so it is in the file, which the script removes before anything else runs.
 */
export function paneScript({ argv, cwd, env }: PaneProgram): string {
  const variables = Object.entries(env).filter(
    ([name]) => NAME.test(name) && !OF_TERMINAL.has(name) && !OF_SHELL.has(name),
  );
  return [
    // The environment of the tmux server is not the one of the loop.
    `[ "$1" = clean ] || exec /usr/bin/env -i ${TERMINAL.map((name) => `"${name}=$${name}"`).join(' ')} /bin/sh "$0" clean`,
    'rm -f -- "$0"',
    ...variables.map(([name, value]) => `export ${name}=${quoted(value)}`),
    `cd ${quoted(cwd)} || exit 125`,
    `exec ${argv.map(quoted).join(' ')}`,
    '',
  ].join('\n');
}

export interface PaneProgram {
  readonly argv: readonly string[];
  /** An absolute path. */
  readonly cwd: string;
  readonly env: Environment;
}

/** A shell cannot export any other name. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Set by tmux. */
const TERMINAL = ['TERM', 'TERM_PROGRAM', 'TERM_PROGRAM_VERSION'] as const;

/** These describe the terminal that the loop was started in. An agent with TMUX could open windows in our server. */
const OF_TERMINAL: ReadonlySet<string> = new Set([
  ...TERMINAL,
  'TMUX',
  'TMUX_PANE',
  'COLUMNS',
  'LINES',
  'STY',
  'WINDOW',
]);

/** Some shells refuse to set these, and end the script. */
const OF_SHELL: ReadonlySet<string> = new Set([
  '_',
  'BASHOPTS',
  'BASH_VERSINFO',
  'EUID',
  'GROUPS',
  'PPID',
  'SHELLOPTS',
  'UID',
]);

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
