import { existsSync } from 'node:fs';
import { desksIn } from '../store/desk-names.ts';
import { shortList } from '../store/short-list.ts';
import type { LoopKey } from '../store/store.ts';
import { describeStranger, moveCommand, strangersIn } from '../store/strangers.ts';
import type { LoopRow } from '../views/loop-row.ts';
import { listRows } from '../views/loop-rows.ts';
import { columns } from './columns.ts';
import { print, warn } from './print.ts';
import { programStamp } from './program-stamp.ts';

/** `ralph ls` without options that choose loops or another form. The workspace is null for `--all`. */
export function list(workspace: string | null): number {
  const listed = listRows(workspace, programStamp());
  const rows = listed.flatMap(({ row }) => row ?? []);
  if (rows.length > 0) printTable(rows, workspace === null);
  else warn(`${workspace === null ? NONE_AT_ALL : NONE_HERE}\n`);
  const keys = listed.flatMap(({ key, row }) => (row === null ? [] : [key]));
  if (workspace === null) mentionGone(keys);
  else mentionStrangers(workspace, keys);
  return 0;
}

/** `ralph status` without a name. */
export function listHere(workspace: string): number {
  const rows = listRows(workspace, programStamp()).flatMap(({ row }) => row ?? []);
  if (rows.length > 0) printTable(rows, false);
  else print('no loops in this workspace; start one with: ralph run (or try: ralph demo)\n');
  return 0;
}

export const NONE_HERE = 'no loops in this workspace; list those of all workspaces with: ralph ls --all';
export const NONE_AT_ALL = 'no loops in any workspace; start one with: ralph run';

/** Prints one line per loop. */
export function printTable(rows: readonly LoopRow[], withWorkspace: boolean): void {
  const withCost = rows.some(({ cost }) => cost !== null);
  const withPlan = rows.some(({ plan }) => plan !== null);
  const withTags = rows.some(({ tags }) => tags !== null);
  const lineOf = (row: LoopRow): readonly string[] => [
    row.name,
    row.status,
    row.iterations,
    ...(withCost ? [row.cost ?? '-'] : []),
    ...(withPlan ? [row.plan ?? '-'] : []),
    row.owner,
    ...(withTags ? [row.tags ?? ''] : []),
    ...(withWorkspace ? [row.workspace] : []),
    row.reason,
  ];
  print(columns([HEAD, ...rows].map(lineOf), { cut: true }));
}

const HEAD: LoopRow = {
  name: 'NAME',
  status: 'STATUS',
  iterations: 'ITERATION',
  cost: 'COST',
  plan: 'PLAN',
  owner: 'OWNER',
  tags: 'TAG',
  workspace: 'WORKSPACE',
  reason: 'REASON',
};

/** Mentions loops whose workspace does not exist any more. */
export function mentionGone(loops: readonly LoopKey[]): void {
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
export function mentionStrangers(workspace: string, keys: readonly LoopKey[]): void {
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
