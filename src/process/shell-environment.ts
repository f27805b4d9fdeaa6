import { inQuotes } from './shell-quote.ts';

type Environment = Readonly<Record<string, string>>;

/** Whether a POSIX shell passes all of these variables on unchanged. */
export function canExport(env: Environment): boolean {
  return Object.keys(env).every((name) => NAME.test(name) && !SPECIAL.has(name));
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

/** How many variables are different in another environment. */
export function countChanges(from: Environment, to: Environment): number {
  return changed(from, to).length + gone(from, to).length;
}

/** The commands for a shell that has one environment and needs another, each followed by a semicolon. */
export function exportsOf(from: Environment, to: Environment): string {
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
