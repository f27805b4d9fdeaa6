/** The environment of programs that a POSIX shell starts. */
import { inQuotes } from '../loop/shell-quote.ts';
import type { Environment } from './process.ts';

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
    const set = Object.keys(env).filter((name) => this.#exported[name] !== env[name]);
    const unset = Object.keys(this.#exported).filter((name) => !Object.hasOwn(env, name));
    const commands = exportsOf(env, set, unset);
    if (set.length + unset.length <= this.#maxChanges) return { lasting: '', own: commands };
    this.#exported = env;
    return { lasting: `${commands}\n`, own: '' };
  }
}

/** The commands that set and unset these variables, each followed by a semicolon. */
function exportsOf(env: Environment, set: readonly string[], unset: readonly string[]): string {
  const assignments = set.map((name) => `${name}=${inQuotes(env[name] ?? '')}`);
  const dropped = unset.length === 0 ? '' : `unset ${unset.join(' ')}; `;
  return assignments.length === 0 ? dropped : `${dropped}export ${assignments.join(' ')}; `;
}
