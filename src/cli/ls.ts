import { SHOWN_STATUSES } from '../loops/summary.ts';
import { WORKER_STATUSES, type LoopRow } from '../loops/list.ts';
import { localLoops } from '../loops/local-loops.ts';
import { inTree, loopTable, strayNotes, type ListedLoop } from '../text/list.ts';
import { workerRecord, workerTable } from '../text/workers.ts';
import { UserError } from '../user-error.ts';
import { oneOf } from './options.ts';
import { print, printColumns, printJson, warn } from './print.ts';
import { listedWorkspace } from './workspace.ts';

/** `ralph ls`: lists the loops of this workspace, or of all workspaces. */
export async function ls(options: LsOptions): Promise<number> {
  const { all = false, json = false, tree = false, tag = null } = options;
  if (tree && options.format !== undefined)
    throw new UserError('cannot use --tree with --format; drop one of them');
  if (json && options.format !== undefined)
    throw new UserError('cannot use --json with --format; drop one of them');
  const format = options.format === undefined ? null : oneOf('--format', options.format, FORMATS);
  const status = oneOf('--status', options.status ?? 'all', STATUSES);
  const workspace = all ? null : listedWorkspace(options);
  const loops = localLoops();
  const found = await loops.list({ workspace, status: status === 'all' ? null : status, tag });
  const listed = tree ? inTree(found) : flat(found);
  const rows = listed.map(({ row }) => row);
  if (json) printJson(rows.map(withoutWorker), 2);
  else if (format === 'json') printJson(rows.map(workerRecord), 2);
  else if (format === 'names') for (const { name } of rows) print(`${name}\n`);
  else if (rows.length > 0)
    printColumns(
      format === 'table' ? workerTable(rows, Date.now()) : loopTable(listed, all),
      format === null,
    );
  else if (format === null && (await loops.list({ workspace })).length === 0)
    warn(`${all ? NONE_AT_ALL : NONE_HERE}\n`);
  for (const note of strayNotes(await loops.strays(workspace))) warn(`note: ${note}\n`);
  return 0;
}

/** `ralph status` without a name. */
export async function listHere(workspace: string, isJson: boolean): Promise<void> {
  const rows = await localLoops().list({ workspace });
  if (isJson) printJson(rows.map(withoutWorker), 2);
  else if (rows.length > 0) printColumns(loopTable(flat(rows), false), true);
  else print('no loops in this workspace; start one with: ralph run (or try: ralph demo)\n');
}

const NONE_HERE = 'no loops in this workspace; list those of all workspaces with: ralph ls --all';
const NONE_AT_ALL = 'no loops in any workspace; start one with: ralph run';

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
const STATUSES = ['all', ...new Set([...WORKER_STATUSES, ...SHOWN_STATUSES])] as const;
const FORMATS = ['table', 'json', 'names'] as const;

function withoutWorker(row: LoopRow): object {
  return { ...row, worker: undefined };
}

function flat(rows: readonly LoopRow[]): readonly ListedLoop[] {
  return rows.map((row) => ({ row, level: 0 }));
}
