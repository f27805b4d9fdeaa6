/** What `ralph watch` shows: what the hall has answered last, and what a person has chosen. Everything here is pure. */
import type { LoopRow } from '../loops/list.ts';
import type { LoopView } from '../loops/loops.ts';
import { inTree } from '../text/list.ts';
import { needOf } from '../text/needs.ts';
import type { OpenedLoop } from './opened-loop.ts';

export interface Model {
  /** In the order of the list; null until the hall has answered. */
  rows: readonly LoopRow[] | null;
  /** What was asked about the loops on the screen. */
  views: ReadonlyMap<string, LoopView>;
  isOfAll: boolean;
  isGrouped: boolean;
  filter: string;
  readonly unfolded: Set<string>;
  /** The id of the loop that keys are about. */
  selected: string | null;
  /** The first item on the screen. */
  top: number;
  opened: OpenedLoop | null;
  /** A page over everything else: the keys, the morning. */
  page: TextPage | null;
  input: Input | null;
  /** What has become of the last request, or what went wrong. */
  note: Note | null;
}

export interface TextPage {
  readonly title: string;
  readonly lines: readonly string[];
  scroll: number;
}

export interface Input {
  readonly for: 'answer' | 'tell' | 'set' | 'stop' | 'filter' | 'command';
  /** What stands before the text. */
  readonly label: string;
  text: string;
}

export interface Note {
  readonly text: string;
  readonly isProblem: boolean;
}

/** A line of the list. */
export type Item =
  | { readonly is: 'workspace'; readonly workspace: string }
  | { readonly is: 'loop'; readonly row: LoopRow; readonly level: number; readonly folded: number };

/** Loops never change their place: they stand by their workspace, then by when they were started. */
export function ordered(rows: Iterable<LoopRow>): readonly LoopRow[] {
  return [...rows].toSorted(
    (a, b) => compare(a.workspace, b.workspace) || startOf(a) - startOf(b) || compare(a.id, b.id),
  );
}

function startOf({ worker }: LoopRow): number {
  return worker.startedAt ?? Number.MAX_SAFE_INTEGER;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The lines of the list: children are folded below their loop, unless a filter is set. */
export function itemsOf({ rows, filter, unfolded, isGrouped }: ListChoice): readonly Item[] {
  const wanted = (rows ?? []).filter((row) => matches(row, filter));
  const tree = inTree(wanted);
  const items: Item[] = [];
  let closedAt: number | null = null;
  for (const [index, { row, level }] of tree.entries()) {
    if (closedAt !== null && level > closedAt) continue;
    const isClosed = filter === '' && !unfolded.has(row.id);
    const end = tree.findIndex((other, at) => at > index && other.level <= level);
    const below = (end < 0 ? tree.length : end) - index - 1;
    closedAt = isClosed ? level : null;
    if (isGrouped && level === 0 && lastWorkspace(items) !== row.workspace)
      items.push({ is: 'workspace', workspace: row.workspace });
    items.push({ is: 'loop', row, level, folded: isClosed ? below : 0 });
  }
  return items;
}

type ListChoice = Pick<Model, 'rows' | 'filter' | 'unfolded' | 'isGrouped'>;

function lastWorkspace(items: readonly Item[]): string | null {
  const last = items.findLast((item) => item.is === 'workspace');
  return last?.is === 'workspace' ? last.workspace : null;
}

/** Whether every word of a filter is somewhere in what a row says. */
function matches({ name, workspace, status, tags = [], about }: LoopRow, filter: string): boolean {
  const text = [
    name,
    workspace,
    status,
    ...tags,
    about.task ?? '',
    about.branch ?? '',
    about.agent?.name ?? '',
  ]
    .join('\n')
    .toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

export interface Needed {
  readonly row: LoopRow;
  readonly why: string;
}

export function neededIn(rows: readonly LoopRow[] | null): readonly Needed[] {
  return (rows ?? []).flatMap((row) => {
    const why = needOf(row);
    return why === null ? [] : [{ row, why }];
  });
}

/** The next loop after the selected one that needs a person, around the end; null if none does. */
export function nextNeeded({ rows, selected }: Pick<Model, 'rows' | 'selected'>): LoopRow | null {
  const needed = neededIn(rows);
  const place = (rows ?? []).findIndex(({ id }) => id === selected);
  const after = needed.find(({ row }) => (rows ?? []).indexOf(row) > place);
  return (after ?? needed[0])?.row ?? null;
}

/** Shows a loop that is folded away, by opening the loops above it. */
export function unfoldTo({ rows, unfolded }: Pick<Model, 'rows' | 'unfolded'>, row: LoopRow): void {
  const byId = new Map((rows ?? []).map((one) => [one.id, one]));
  for (let above = byId.get(row.parent ?? ''); above !== undefined && !unfolded.has(above.id);) {
    unfolded.add(above.id);
    above = byId.get(above.parent ?? '');
  }
}

export function selectedRow({ rows, selected }: Pick<Model, 'rows' | 'selected'>): LoopRow | null {
  return (rows ?? []).find(({ id }) => id === selected) ?? null;
}

/** Moves the selection by some loops, and to the first one if none is selected. */
export function moveSelection(model: Model, by: number): void {
  const loops = itemsOf(model).flatMap((item) => (item.is === 'loop' ? [item.row.id] : []));
  const place = loops.indexOf(model.selected ?? '');
  const next = place < 0 ? 0 : Math.min(loops.length - 1, Math.max(0, place + by));
  model.selected = loops[next] ?? null;
}

/** The items that fit on the screen, moved as little as possible so that the selected one is among them. */
export function windowOn(model: Model, items: readonly Item[], height: number): readonly Item[] {
  const place = items.findIndex((item) => item.is === 'loop' && item.row.id === model.selected);
  const most = Math.max(0, items.length - height);
  if (place >= 0) {
    // With the heading of its workspace.
    const first = items[place - 1]?.is === 'workspace' ? place - 1 : place;
    if (first < model.top) model.top = first;
    if (place >= model.top + height) model.top = place - height + 1;
  }
  model.top = Math.min(Math.max(0, model.top), most);
  return items.slice(model.top, model.top + height);
}
