import { preview } from '../loops/preview.ts';
import type { StartRequest } from '../loops/loops.ts';
import { dryRunText } from '../text/dry-run.ts';
import { UserError } from '../user-error.ts';
import type { RunOptions } from './options.ts';
import { printAsIs, printJson, terminalWidth } from './print.ts';

/** `--dry-run`: prints what a loop would start with, and starts nothing. */
export async function showDryRun(asked: StartRequest, { json }: RunOptions): Promise<number> {
  const found = await preview(asked);
  if (json === true) printJson(found, 2);
  else printAsIs(`${dryRunText(found, terminalWidth())}\n`);
  return 0;
}

/** Refuses options that have no meaning where nothing is started. */
export function refuseWithDryRun({ report, reportFile }: RunOptions): void {
  if (report === undefined && reportFile === undefined) return;
  throw new UserError(
    'cannot use --dry-run with --report or --report-file: no loop is started; drop one of them',
  );
}
