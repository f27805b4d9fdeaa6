import { existsSync } from 'node:fs';
import { shortList } from '../store/short-list.ts';
import { describeStranger, moveCommand, strangersIn } from '../store/strangers.ts';
import { readAllLoops, readLoops, type LoopReading } from '../store/read-loop.ts';
import { masks } from '../store/mask.ts';
import { WORKER_STATUSES, workerRecord, workerStatus } from '../views/worker-record.ts';
import { UserError } from '../user-error.ts';
import { summaryOf } from '../views/loop-summary.ts';
import { inTree, type ListedLoop } from '../views/loop-tree.ts';
import { columns } from './columns.ts';
import { oneOf } from './options.ts';
import { workspaceOf } from './workspace.ts';
import { print, printJson, warn } from './print.ts';
import { workerTable } from './worker-table.ts';
import { ofLimit } from '../loop/counted.ts';
import { planCount } from '../loop/plan.ts';

/** `ralph ls`: lists the loops of this workspace, or of all workspaces. */
export function ls(options: LsOptions): number {
  const { all = false, json = false, tree = false, tag } = options;
  if (tree && options.format !== undefined)
    throw new UserError('cannot use --tree with --format; drop one of them');
  if (json && options.format !== undefined)
    throw new UserError('cannot use --json with --format; drop one of them');
  const format = options.format === undefined ? null : oneOf('--format', options.format, FORMATS);
  const status = oneOf('--status', options.status ?? 'all', [...WORKER_STATUSES, 'all']);
  const found = all ? readAllLoops() : readLoops(workspaceOf(options));
  const chosen = found.filter(
    (loop) =>
      (status === 'all' || workerStatus(loop) === status) &&
      (tag === undefined || loop.spec.tags?.includes(tag) === true),
  );
  const rows = tree ? inTree(chosen) : chosen.map((loop) => ({ loop, level: 0 }));
  const loops = rows.map(({ loop }) => loop);
  if (json) printJson(masked(loops, summaryOf), 2);
  else if (format === 'json') printJson(masked(loops, workerRecord), 2);
  else if (format === 'table') printWorkers(loops);
  else if (format === 'names') for (const { spec } of loops) print(`${spec.name}\n`);
  else if (found.length === 0) warn(`${all ? NONE_AT_ALL : NONE_HERE}\n`);
  else if (loops.length > 0) printTable(rows, all);
  mention(found, options);
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
export function printTable(listed: readonly ListedLoop[], withWorkspace: boolean): void {
  const withPlan = listed.some(({ loop: { report } }) => report.plan !== null);
  const mask = masks();
  const withTags = listed.some(({ loop: { spec } }) => (spec.tags ?? []).length > 0);
  const rows = [
    [
      'NAME',
      'STATUS',
      'ITERATION',
      ...(withPlan ? ['PLAN'] : []),
      'OWNER',
      ...(withTags ? ['TAG'] : []),
      ...(withWorkspace ? ['WORKSPACE'] : []),
      'REASON',
    ],
    ...listed.map(({ loop, level }) => {
      const { name, status, iterations, iterationLimit, owner, workspace, reason, waiting, warning } =
        summaryOf(loop);
      const { plan } = loop.report;
      const cells = [
        `${'  '.repeat(level)}${name}`,
        status,
        ofLimit(iterations, iterationLimit),
        ...(withPlan ? [plan === null ? '-' : planCount(plan)] : []),
        owner === null ? '-' : String(owner),
        ...(withTags ? [(loop.spec.tags ?? []).join(',')] : []),
        ...(withWorkspace ? [workspace] : []),
        [waiting === null ? (reason ?? []) : `waiting: ${waiting}`, warning ?? []].flat().join('; '),
      ];
      const hidden = mask(loop.spec);
      return cells.map((cell) => hidden.text(cell));
    }),
  ];
  print(columns(rows, { cut: true }));
}
