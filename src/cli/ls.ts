import { existsSync } from 'node:fs';
import { shortList } from '../store/short-list.ts';
import { describeStranger, moveCommand, strangersIn } from '../store/strangers.ts';
import { readAllLoops, readLoops, type LoopReading } from '../store/read-loop.ts';
import { columns } from './columns.ts';
import { workspaceOf } from './workspace.ts';
import { print, printJson, warn } from './print.ts';
import { shownSummary } from './status.ts';
import { ofLimit } from '../loop/counted.ts';

/** `ralph ls`: lists the loops of this workspace, or of all workspaces. */
export function ls(options: {
  readonly all?: boolean;
  readonly json?: boolean;
  readonly cwd?: string;
}): number {
  const loops = options.all === true ? readAllLoops() : readLoops(workspaceOf(options));
  if (options.json === true) printJson(loops.map(shownSummary), 2);
  else if (loops.length === 0) warn(`${options.all === true ? NONE_AT_ALL : NONE_HERE}\n`);
  else printTable(loops, options.all === true);
  mention(loops, options);
  return 0;
}

/** Mentions what looks like a loop and is none, and loops without a workspace. */
function mention(
  loops: readonly LoopReading[],
  options: { readonly all?: boolean; readonly cwd?: string },
): void {
  const strangers = options.all === true ? [] : strangersIn(workspaceOf(options));
  const moved = new Set(strangers.flatMap(({ movedFrom }) => movedFrom ?? []));
  for (const from of moved)
    warn(`note: this workspace was ${from} before; take its loops along with: ${moveCommand(from)}\n`);
  for (const stranger of strangers) {
    if (stranger.movedFrom === null) warn(`note: ${describeStranger(stranger)}\n`);
  }
  const gone = options.all === true ? loops.filter(({ spec }) => !existsSync(spec.workspace)) : [];
  if (gone.length > 0)
    warn(
      `note: the workspace of ${shortList(
        gone.map(({ spec }) => spec.name),
        8,
      )} is gone; if it was moved, run there: ralph move OLD_FOLDER; else remove such loops with: ralph rm --gone\n`,
    );
}

const NONE_HERE = 'no loops in this workspace; list those of all workspaces with: ralph ls --all';
const NONE_AT_ALL = 'no loops in any workspace; start one with: ralph run';

/** Prints one line per loop. */
export function printTable(loops: readonly LoopReading[], withWorkspace: boolean): void {
  const rows = [
    ['NAME', 'STATUS', 'ITERATION', 'OWNER', ...(withWorkspace ? ['WORKSPACE'] : []), 'REASON'],
    ...loops.map((loop) => {
      const { name, status, iterations, iterationLimit, owner, workspace, reason, waiting, warning } =
        shownSummary(loop);
      return [
        name,
        status,
        ofLimit(iterations, iterationLimit),
        owner === null ? '-' : String(owner),
        ...(withWorkspace ? [workspace] : []),
        [waiting ?? reason ?? [], warning ?? []].flat().join('; '),
      ];
    }),
  ];
  print(columns(rows, { cut: true }));
}
