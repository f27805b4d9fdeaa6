import type { CheckResult } from '../loop/event.ts';
import { runLogged, type LoggedCommand } from '../process/logged.ts';
import type { ProcessTable } from '../process/process-table.ts';

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
