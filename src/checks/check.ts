import type { CheckResult } from '../loop/event.ts';
import { runLogged, type LoggedCommand } from '../process/logged.ts';
import type { ProcessTable } from '../process/process-table.ts';
import { plainLetters } from '../loop/letters.ts';

/** Runs one check, a shell command in the workspace; null if it was interrupted. */
export async function runCheck(
  { command, shownAs, ...spec }: CheckSpec,
  table: ProcessTable,
  interrupt: AbortSignal,
): Promise<CheckResult | null> {
  const result = await runLogged({ ...spec, argv: ['/bin/sh', '-c', command] }, table, interrupt);
  return result === null ? null : { ...result, log: shownAs };
}

export interface CheckSpec extends Omit<LoggedCommand, 'argv'> {
  readonly command: string;
  /** The path of the log in journal and messages. */
  readonly shownAs: string;
}

/** The name of a check's log: letters and digits of its command, with a number if another check has the same name. */
export function checkSlug(commands: readonly string[], index: number): string {
  const taken = new Set<string>();
  let name = '';
  for (const command of commands.slice(0, index + 1)) {
    const base = slug(command);
    name = base;
    // Some file systems ignore case.
    for (let number = 1; taken.has(name.toLowerCase()); number++) name = `${base}_${number}`;
    taken.add(name.toLowerCase());
  }
  return name;
}

function slug(command: string): string {
  const words = plainLetters(command)
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
  return words.slice(0, 50) || 'check';
}
