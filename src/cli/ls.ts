import { existsSync } from 'node:fs';
import { desksIn } from '../store/desk-names.ts';
import { readAllLoops, readLoops, type LoopReading } from '../store/read-loop.ts';
import { parentOf } from '../store/enclosing-runs.ts';
import { masks } from '../store/mask.ts';
import { shortList } from '../loop/counted.ts';
import type { LoopKey } from '../store/store.ts';
import { describeStranger, moveCommand, strangersIn } from '../store/strangers.ts';
import { WORKER_STATUSES, workerRecord, workerStatus } from '../loops/worker-record.ts';
import { UserError } from '../user-error.ts';
import { SHOWN_STATUSES, summaryOf } from '../loops/summary.ts';
import { oneOf } from './options.ts';
import { listedWorkspace } from './workspace.ts';
import { print, printColumns, printJson, warn } from './print.ts';
import { inTree, loopTable, rowOf, workerTable, type ListedLoop } from '../text/list.ts';

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
  const found = workspace === null ? readAllLoops() : readLoops(workspace);
  const chosen = found.filter(
    (loop) =>
      (status === 'all' || workerStatus(loop) === status || summaryOf(loop).status === status) &&
      (tag === undefined || loop.spec.tags?.includes(tag) === true),
  );
  const rows = tree ? inTree(chosen, parentOf) : flat(chosen);
  const loops = rows.map(({ loop }) => loop);
  if (json) printJson(masked(loops, summaryOf), 2);
  else if (format === 'json') printJson(masked(loops, workerRecord), 2);
  else if (format === 'table') printWorkers(loops);
  else if (format === 'names') for (const { spec } of loops) print(`${spec.name}\n`);
  else if (found.length === 0) warn(`${all ? NONE_AT_ALL : NONE_HERE}\n`);
  else if (loops.length > 0) printTable(rows, all);
  if (workspace === null) mentionGone(found.map(({ spec }) => spec));
  else
    mentionStrangers(
      workspace,
      found.map(({ folder }) => folder),
    );
  return 0;
}

/** `ralph status` without a name. */
export function listHere(workspace: string): number {
  const loops = readLoops(workspace);
  if (loops.length > 0) printTable(flat(loops), false);
  else print('no loops in this workspace; start one with: ralph run (or try: ralph demo)\n');
  return 0;
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
  if (workers.length > 0) printColumns(workerTable(workers, Date.now()));
}

function flat(loops: readonly LoopReading[]): readonly ListedLoop[] {
  return loops.map((loop) => ({ loop, level: 0 }));
}

/** Prints one line per loop, without secrets. */
function printTable(loops: readonly ListedLoop[], withWorkspace: boolean): void {
  const mask = masks();
  const rows = loops.map(({ loop, level }) => mask(loop.spec).value(rowOf(loop, summaryOf(loop), level)));
  printColumns(loopTable(rows, withWorkspace), true);
}

/** Mentions loops whose workspace does not exist any more. */
function mentionGone(loops: readonly LoopKey[]): void {
  const known = new Map<string, boolean>();
  const isGone = (workspace: string): boolean => {
    const found = known.get(workspace) ?? !existsSync(workspace);
    known.set(workspace, found);
    return found;
  };
  const gone = loops.filter(({ workspace }) => isGone(workspace)).map(({ name }) => name);
  if (gone.length > 0)
    warn(
      `note: the workspace of ${shortList(gone, 8)} is gone; if it was moved, run there: ralph move OLD_FOLDER; else remove such loops with: ralph rm --gone\n`,
    );
}

/** Mentions what looks like a loop of this workspace and is none. */
function mentionStrangers(workspace: string, keys: readonly LoopKey[]): void {
  const known = new Set(keys.map(({ name }) => name));
  if (desksIn(workspace).every((name) => known.has(name))) return;
  const strangers = strangersIn(workspace);
  const moved = new Set(strangers.flatMap(({ movedFrom }) => movedFrom ?? []));
  const notes = [
    ...[...moved].map(
      (from) => `this workspace was ${from} before; take its loops along with: ${moveCommand(from)}`,
    ),
    ...strangers.filter(({ movedFrom }) => movedFrom === null).map(describeStranger),
  ];
  for (const note of notes) warn(`note: ${note}\n`);
}
