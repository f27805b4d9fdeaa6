import { readAllLoops, readLoops, type LoopReading } from '../store/read-loop.ts';
import { masks } from '../store/mask.ts';
import { WORKER_STATUSES, workerRecord, workerStatus } from '../views/worker-record.ts';
import { UserError } from '../user-error.ts';
import { SHOWN_STATUSES, summaryOf } from '../views/loop-summary.ts';
import { rowOf } from '../views/loop-row.ts';
import { inTree } from '../views/loop-tree.ts';
import { list, mentionGone, mentionStrangers, NONE_AT_ALL, NONE_HERE, printTable } from './list.ts';
import { oneOf } from './options.ts';
import { listedWorkspace } from './workspace.ts';
import { print, printJson, warn } from './print.ts';
import { workerTable } from './worker-table.ts';

/** `ralph ls`: lists the loops of this workspace, or of all workspaces. */
export async function ls(options: LsOptions): Promise<number> {
  const { all = false, json = false, tree = false, tag } = options;
  if (tree && options.format !== undefined)
    throw new UserError('cannot use --tree with --format; drop one of them');
  if (json && options.format !== undefined)
    throw new UserError('cannot use --json with --format; drop one of them');
  const format = options.format === undefined ? null : oneOf('--format', options.format, FORMATS);
  const status = oneOf('--status', options.status ?? 'all', STATUSES);
  const workspace = all ? null : listedWorkspace(options);
  if (!json && !tree && format === null && status === 'all' && tag === undefined) return list(workspace);
  const found = workspace === null ? readAllLoops() : readLoops(workspace);
  const chosen = found.filter(
    (loop) =>
      (status === 'all' || workerStatus(loop) === status || summaryOf(loop).status === status) &&
      (tag === undefined || loop.spec.tags?.includes(tag) === true),
  );
  const rows = tree ? inTree(chosen) : chosen.map((loop) => ({ loop, level: 0 }));
  const loops = rows.map(({ loop }) => loop);
  if (json) printJson(masked(loops, summaryOf), 2);
  else if (format === 'json') printJson(masked(loops, workerRecord), 2);
  else if (format === 'table') printWorkers(loops);
  else if (format === 'names') for (const { spec } of loops) print(`${spec.name}\n`);
  else if (found.length === 0) warn(`${all ? NONE_AT_ALL : NONE_HERE}\n`);
  else if (loops.length > 0) {
    const mask = masks();
    const shown = rows.map(({ loop, level }) => rowOf(loop, mask(loop.spec), level));
    printTable(shown, all);
  }
  if (workspace === null) mentionGone(found.map(({ spec }) => spec));
  else
    mentionStrangers(
      workspace,
      found.map(({ folder }) => folder),
    );
  return 0;
}

interface LsOptions {
  readonly all?: boolean;
  readonly json?: boolean;
  readonly tree?: boolean;
  readonly format?: string;
  readonly status?: string;
  readonly tag?: string;
  readonly cwd?: string;
}

/** The words of document 003, and those that the lists show. */
const STATUSES = [...new Set(['all', ...WORKER_STATUSES, ...Object.keys(SHOWN_STATUSES)])];
const FORMATS = ['table', 'json', 'names'] as const;

/** What is shown of each loop, without secrets. */
function masked<T>(loops: readonly LoopReading[], shown: (loop: LoopReading) => T): readonly T[] {
  const mask = masks();
  return loops.map((loop) => mask(loop.spec).value(shown(loop)));
}

/** The list of document 003; nothing if it is empty. */
function printWorkers(loops: readonly LoopReading[]): void {
  const workers = masked(loops, (loop) => ({ ...workerRecord(loop), startedAt: loop.report.startedAt }));
  if (workers.length > 0) print(workerTable(workers, Date.now()));
}
