import type { LoopSummary } from '../loops/summary.ts';
import { statusData, statusText } from '../text/status.ts';
import { UserError } from '../user-error.ts';
import { chosenLoop } from './chosen-loop.ts';
import { hall } from './hall.ts';
import { painter } from './line-options.ts';
import { ls } from './ls.ts';
import { printAsIs, printJson, readerHere } from './print.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph status`: one loop, or with `--status` a list. Exits with 0 if the loop is running, 1 if it is not, 2 if it does not exist or cannot be read. */
export async function status(
  name: string | null,
  options: { readonly json?: boolean; readonly status?: string; readonly cwd?: string },
): Promise<number> {
  if (options.status !== undefined) {
    if (name !== null)
      throw new UserError('cannot use --status with the name of a loop; list loops with: ralph ls --status');
    return ls(options);
  }
  const loops = hall();
  const loop = await loops.get(await chosenLoop(loops, name, workspaceOf(options), 'status'));
  const { summary } = loop;
  if (options.json === true) printJson(statusData(loop), 2);
  else printAsIs(`${statusText(loop, { ...readerHere(), paint: painter(process.stdout) })}\n`);
  if (summary.status === 'unreadable') return 2;
  return summary.owner !== null || ACTIVE.has(summary.status) ? 0 : 1;
}

const ACTIVE: ReadonlySet<LoopSummary['status']> = new Set(['running', 'in-session']);
