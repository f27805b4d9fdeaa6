/** The environment of programs that a POSIX shell starts. */
import { inQuotes } from './shell-quote.ts';

type Environment = Readonly<Record<string, string>>;

/** Whether a POSIX shell passes these words and all variables on unchanged. */
export function isPassedOn(words: readonly string[], env: Environment): boolean {
  return (
    Object.keys(env).every((name) => NAME.test(name) && !SPECIAL.has(name)) &&
    ![...words, ...Object.values(env)].some((text) => text.includes('\0'))
  );
}

/** Shells drop variables with other names. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Assigning one would end the shell, or change how it reads its commands. */
const SPECIAL = new Set([
  'PPID',
  'UID',
  'EUID',
  'BASHOPTS',
  'SHELLOPTS',
  'BASH_VERSINFO',
  'IFS',
  'OPTIND',
  // Bash gives them values of its own.
  'BASHPID',
  'RANDOM',
  'SRANDOM',
  'HISTCMD',
  'BASH_ARGV0',
]);

/** What a shell that stays has exported: most of its programs need almost the same. */
export class ShellEnvironment {
  readonly #maxChanges: number;
  #exported: Environment = {};

  /** A program with more changes than this gives the shell a new environment. */
  constructor(maxChanges: number) {
    this.#maxChanges = maxChanges;
  }

  /** The commands before a program: those for the shell itself, and those for the subshell of the program only. */
  commandsFor(env: Environment): { readonly lasting: string; readonly own: string } {
    const count = changed(this.#exported, env).length + gone(this.#exported, env).length;
    const commands = exportsOf(this.#exported, env);
    if (count <= this.#maxChanges) return { lasting: '', own: commands };
    this.#exported = env;
    return { lasting: `${commands}\n`, own: '' };
  }
}

/** The commands for a shell that has one environment and needs another, each followed by a semicolon. */
function exportsOf(from: Environment, to: Environment): string {
  const assignments = changed(from, to).map((name) => `${name}=${inQuotes(to[name] ?? '')}`);
  const dropped = gone(from, to);
  const unset = dropped.length === 0 ? '' : `unset ${dropped.join(' ')}; `;
  return assignments.length === 0 ? unset : `${unset}export ${assignments.join(' ')}; `;
}

function changed(from: Environment, to: Environment): readonly string[] {
  return Object.keys(to).filter((name) => from[name] !== to[name]);
}

function gone(from: Environment, to: Environment): readonly string[] {
  return Object.keys(from).filter((name) => !Object.hasOwn(to, name));
}
