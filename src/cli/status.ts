import { statusText } from '../text/status.ts';
import { workspaceWith } from '../store/find-workspace.ts';
import { readLoopIn, readLoops, type LoopReading } from '../store/read-loop.ts';
import { familyNow } from '../store/family.ts';
import { NOTHING_KNOWN } from '../loop/report.ts';
import { maskOf } from '../store/mask.ts';
import { childrenNow } from '../views/children-now.ts';
import { summaryOf, type LoopSummary } from '../views/loop-summary.ts';
import { UserError } from '../user-error.ts';
import { findLoop } from '../loops/find.ts';
import { listedWorkspace, workspaceOf } from './workspace.ts';
import { listHere, ls } from './ls.ts';
import { print, printJson } from './print.ts';

/** `ralph status`: exits 0 if the loop is running, 1 if it is not, 2 if it does not exist or cannot be read. */
export async function status(
  name: string | null,
  options: { readonly json?: boolean; readonly status?: string; readonly cwd?: string },
): Promise<number> {
  if (options.status !== undefined) {
    if (name !== null)
      throw new UserError('cannot use --status with the name of a loop; list loops with: ralph ls --status');
    return ls(options);
  }
  if (name === null) {
    const workspace = listedWorkspace(options);
    if (options.json !== true) return listHere(workspace);
    printJson(readLoops(workspace).map(shownSummary), 2);
    return 0;
  }
  const loop = findLoop(workspaceWith(workspaceOf(options), name), name);
  const summary = summaryOf(loop);
  if (options.json === true) printJson(statusJson(loop), 2);
  else print(`${shownText(loop, summary)}\n`);
  if (summary.status === 'unreadable') return 2;
  return loop.owner !== null || summary.status === 'in-session' ? 0 : 1;
}

/** The summary with its child loops as they are now. */
function statusJson(loop: LoopReading): object {
  const children = childrenNow(loop);
  return { ...shownSummary(loop), ...(children.length === 0 ? {} : { children }) };
}

/** The summary of a loop without secrets. */
export function shownSummary(loop: LoopReading): LoopSummary {
  return maskOf(loop.spec).value(summaryOf(loop));
}

/** A loop as `ralph status` shows it, for its own sandbox. */
export function describedLoop(path: string): { readonly text: string; readonly summary: unknown } {
  const loop = readLoopIn(path);
  return { text: shownText(loop, summaryOf(loop)), summary: statusJson(loop) };
}

/** The state of a loop without secrets; `word` is its status in the words of the caller. */
export function shownText(loop: LoopReading, summary: LoopSummary, word: string = summary.status): string {
  const known = summary.status === 'unreadable' ? { ...loop, ...NOTHING_KNOWN } : loop;
  const text = statusText(known, summary, {
    word,
    family: familyNow(known.spec, known.state),
    children: childrenNow(loop),
    home: process.env['HOME'],
  });
  return maskOf(loop.spec).text(text);
}
