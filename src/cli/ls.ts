import { readAllLoops, readLoops, type LoopReading } from '../store/read-loop.ts';
import { summaryOf } from '../views/loop-summary.ts';
import { columns } from './columns.ts';
import { workspaceOf } from './workspace.ts';
import { print, warn } from './print.ts';
import { ofLimit } from '../loop/counted.ts';

/** `ralph ls`: lists the loops of this workspace, or of all workspaces. */
export function ls(options: {
  readonly all?: boolean;
  readonly json?: boolean;
  readonly cwd?: string;
}): number {
  const loops = options.all === true ? readAllLoops() : readLoops(workspaceOf(options));
  if (options.json === true) print(`${JSON.stringify(loops.map(summaryOf), null, 2)}\n`);
  else if (loops.length === 0) warn(`${options.all === true ? NONE_AT_ALL : NONE_HERE}\n`);
  else printTable(loops, options.all === true);
  return 0;
}

const NONE_HERE = 'no loops in this workspace; list those of all workspaces with: ralph ls --all';
const NONE_AT_ALL = 'no loops in any workspace; start one with: ralph run';

/** Prints one line per loop. */
export function printTable(loops: readonly LoopReading[], withWorkspace: boolean): void {
  const rows = [
    ['NAME', 'STATUS', 'ITERATION', 'OWNER', ...(withWorkspace ? ['WORKSPACE'] : []), 'REASON'],
    ...loops.map((loop) => {
      const { name, status, iterations, iterationLimit, owner, workspace, reason, waiting, warning } =
        summaryOf(loop);
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
