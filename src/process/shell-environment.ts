import { inQuotes } from './shell-quote.ts';

/** The command that sets these variables in a POSIX shell; null if the shell would change or refuse one of them. */
export function exportsOf(env: Readonly<Record<string, string>>): string | null {
  const variables = Object.entries(env);
  if (variables.some(([name]) => !NAME.test(name) || READ_ONLY.has(name))) return null;
  return `export ${variables.map(([name, value]) => `${name}=${inQuotes(value)}`).join(' ')}`;
}

/** Shells drop variables with other names. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Of POSIX shells and of bash; assigning one would end the shell. IFS would change how it reads the line. */
const READ_ONLY = new Set(['PPID', 'UID', 'EUID', 'BASHOPTS', 'SHELLOPTS', 'BASH_VERSINFO', 'IFS']);
