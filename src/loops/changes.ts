/**
 * What has changed in a list of loops since a reader has seen it.
 *
 * 1. The mark of a reader says what it has seen of each row, so that it goes on in any process.
 * 2. A wait ends with the first change of a file that a row is made from. What a row says about other loops and processes is compared
 *    with each page.
 */
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { foundAt } from '../files/files.ts';
import { LoopFolder, type LoopKey } from '../home/home.ts';
import { registryFolder } from '../home/registry.ts';
import { stateFolder } from '../home/state-folder.ts';
import { endOfWait, watchUntil } from '../process/watch.ts';
import { rowsOf, stampOf, stampOfLoop, type Filter, type LoopRow } from './list.ts';
import type { Call } from './loops.ts';

export interface Changes {
  readonly changes: readonly RowChange[];
  readonly next: ListMark;
}

export type RowChange =
  | { readonly is: 'added' | 'changed'; readonly row: LoopRow }
  /** The filter does not want it any more, or it was removed. */
  | { readonly is: 'removed'; readonly id: string };

/** What a reader has seen of each loop, by its id. What it means is no reader's business. */
export type ListMark = Readonly<Record<string, string>>;

/** `from` is null for a reader that has seen nothing yet: all rows are added. */
export async function changesOf(
  keys: () => readonly LoopKey[],
  filter: Filter,
  from: ListMark | null,
  call: Call = {},
): Promise<Changes> {
  const until = endOfWait(call);
  for (;;) {
    const present = keys();
    // Before the rows are read.
    const places = until.aborted ? NONE : placesOf(present, filter);
    const page = changesNow(present, filter, from ?? {});
    if (from === null || page.changes.length > 0 || until.aborted) return page;
    const look = (path: string): true | null => (places.get(path)?.isNews(from) === true ? true : null);
    // oxlint-disable-next-line no-await-in-loop -- until a row has changed
    await watchUntil([...places.keys()], look, until);
  }
}

const NONE: ReadonlyMap<string, Place> = new Map();

function changesNow(keys: readonly LoopKey[], filter: Filter, seen: ListMark): Changes {
  const rows = rowsOf(keys, filter);
  const next = Object.fromEntries(rows.map((row) => [row.id, digestOf(row)]));
  const changed = rows
    .filter(({ id }) => next[id] !== seen[id])
    .map((row): RowChange => ({ is: Object.hasOwn(seen, row.id) ? 'changed' : 'added', row }));
  const removed = Object.keys(seen)
    .filter((id) => !Object.hasOwn(next, id))
    .map((id): RowChange => ({ is: 'removed', id }));
  return { changes: [...changed, ...removed], next };
}

function digestOf(row: LoopRow): string {
  return crc32(JSON.stringify(row)).toString(36);
}

/** A folder that is watched. */
interface Place {
  /** Whether the list may be another one by now than the reader has seen. */
  isNews(seen: ListMark): boolean;
}

function placesOf(keys: readonly LoopKey[], filter: Filter): ReadonlyMap<string, Place> {
  const workspaces = filter.workspace === null ? [] : [filter.workspace];
  const registries = new Set(
    [...workspaces, ...keys.map(({ workspace }) => workspace)].map((one) => registryFolder(one)),
  );
  if (filter.workspace === null) registries.add(join(stateFolder(), 'registry'));
  const ofLoops = keys.map((key): [string, Place] => {
    const folder = new LoopFolder(key);
    const hasChanged = changeOf(() => stampOfLoop(folder));
    // Most of what a loop journals changes nothing in its row.
    return [
      folder.path,
      { isNews: (seen) => hasChanged() && changesNow([key], filter, pick(seen, key)).changes.length > 0 },
    ];
  });
  return new Map([
    ...[...registries].map((path): [string, Place] => [
      path,
      { isNews: changeOf(() => stampOf([foundAt(path)])) },
    ]),
    ...ofLoops,
  ]);
}

/** Tells whether a stamp has changed since the last time. */
function changeOf(stamp: () => string): () => boolean {
  let seen = stamp();
  return () => {
    const before = seen;
    seen = stamp();
    return seen !== before;
  };
}

function pick(seen: ListMark, { id }: LoopKey): ListMark {
  const digest = seen[id];
  return digest === undefined ? {} : { [id]: digest };
}
