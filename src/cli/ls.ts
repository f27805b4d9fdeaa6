import { SHOWN_STATUSES } from '../loops/summary.ts';
import { WORKER_STATUSES, type LoopRow } from '../loops/list.ts';
import { columns } from '../text/columns.ts';
import {
  byNeed,
  byWorkspace,
  colourOf,
  inTree,
  loopTable,
  strayNotes,
  type ListedLoop,
} from '../text/list.ts';
import { homely, visible } from '../text/one-line.ts';
import { workerRecord, workerTable } from '../text/workers.ts';
import { UserError } from '../user-error.ts';
import { hall } from './hall.ts';
import { oneOf } from './options.ts';
import { painter, type Paint } from './line-options.ts';
import { print, printAsIs, printColumns, printJson, terminalWidth, warn } from './print.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph ls`: lists the loops of this workspace, or of all workspaces. */
export async function ls(options: LsOptions): Promise<number> {
  const { all = false, json = false, tree = false, tag = null } = options;
  if (tree && options.format !== undefined)
    throw new UserError('cannot use --tree with --format; drop one of them');
  if (json && options.format !== undefined)
    throw new UserError('cannot use --json with --format; drop one of them');
  const format = options.format === undefined ? null : oneOf('--format', options.format, FORMATS);
  const status = oneOf('--status', options.status ?? 'all', STATUSES);
  const workspace = all ? null : workspaceOf(options);
  const loops = hall();
  const found = await loops.list({ workspace, status: status === 'all' ? null : status, tag });
  const rows = tree ? inTree(found).map(({ row }) => row) : found;
  if (json) printJson(rows.map(withoutWorker), 2);
  else if (format === 'json') printJson(rows.map(workerRecord), 2);
  else if (format === 'names') for (const { name } of rows) print(`${name}\n`);
  else if (rows.length > 0 && format === 'table') printColumns(workerTable(rows, Date.now()));
  else if (rows.length > 0)
    printAsIs(
      loopLines(tree ? inTree(found) : flat(byNeed(found)), { isOfAll: all, width: terminalWidth() }),
    );
  else if (format === null && (await loops.list({ workspace })).length === 0)
    warn(`${all ? NONE_AT_ALL : NONE_HERE}\n`);
  for (const note of strayNotes(await loops.strays(workspace))) warn(`note: ${note}\n`);
  return 0;
}

/** The table of loops; those of all workspaces below the folder of each. */
export function loopLines(
  loops: readonly ListedLoop[],
  { isOfAll, width, paint = painter(process.stdout) }: LinesOptions,
): string {
  const listed = isOfAll ? byWorkspace(loops) : loops;
  const table = loopTable(listed, { width, now: Date.now() });
  const [head = '', ...lines] = columns(table, {
    width,
    cut: true,
    paint: (text, row, column) => {
      const colour = row === 0 ? 'bold' : colourOf(table[0]?.[column], text);
      return colour === null ? text : paint(colour, text);
    },
  })
    .trimEnd()
    .split('\n');
  const below = lines.map((line, at) => {
    const { workspace } = listed[at]?.row ?? { workspace: '' };
    if (!isOfAll || workspace === listed[at - 1]?.row.workspace) return `${line}\n`;
    const folder = paint('dim', `${visible(homely(workspace, process.env['HOME']))}:`);
    return `${at === 0 ? '' : '\n'}${folder}\n${line}\n`;
  });
  return `${head}\n${below.join('')}`;
}

interface LinesOptions {
  readonly isOfAll: boolean;
  readonly width: number;
  readonly paint?: Paint;
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

export function flat(rows: readonly LoopRow[]): readonly ListedLoop[] {
  return rows.map((row) => ({ row, level: 0 }));
}
