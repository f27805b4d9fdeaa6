/**
 * The loops as the hall tells them: the rows of the list whenever one has changed, and of those on the screen that run also what they
 * do now.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { ListMark } from '../loops/changes.ts';
import type { LoopRow } from '../loops/list.ts';
import type { LoopRef, Loops, LoopView } from '../loops/loops.ts';
import { UserError } from '../user-error.ts';

interface ListFeedOptions {
  /** The folder whose workspace is listed; null for all. */
  readonly workspace: string | null;
  readonly rows: (rows: readonly LoopRow[]) => void;
  readonly signal: AbortSignal;
}

/** Tells the rows, again with each change, until the signal aborts. */
export async function followList(
  loops: Pick<Loops, 'changes'>,
  { workspace, rows, signal }: ListFeedOptions,
): Promise<void> {
  const known = new Map<string, LoopRow>();
  let mark: ListMark | null = null;
  while (!signal.aborted) {
    // oxlint-disable-next-line no-await-in-loop -- one page after the other
    const page = await loops.changes({ workspace }, mark, { signal, wait: WAIT_MS });
    const isFirst = mark === null;
    for (const change of page.changes) {
      if (change.is === 'removed') known.delete(change.id);
      else known.set(change.row.id, change.row);
    }
    mark = page.next;
    if (isFirst || page.changes.length > 0) rows([...known.values()]);
    // The loops of a busy machine change all the time.
    // oxlint-disable-next-line no-await-in-loop -- as above
    if (page.changes.length > 0) await pause(CHANGES_MS, null, { signal }).catch(() => {});
  }
}

const WAIT_MS = 30_000;
const CHANGES_MS = 250;

interface ViewsOptions {
  /** The loops of which the views are wanted now. */
  readonly wanted: () => readonly LoopRef[];
  readonly views: (views: ReadonlyMap<string, LoopView>) => void;
  readonly signal: AbortSignal;
}

/** Tells what the wanted loops do now, every second, or less often where it takes the hall long. */
export async function followViews(
  loops: Pick<Loops, 'get'>,
  { wanted, views, signal }: ViewsOptions,
): Promise<void> {
  while (!signal.aborted) {
    const began = performance.now();
    const found = new Map<string, LoopView>();
    for (const ref of wanted()) {
      if (signal.aborted) return;
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const view = await viewOrNull(loops, ref);
      if (view !== null) found.set(ref.id, view);
      // Keys come between two loops.
      // oxlint-disable-next-line no-await-in-loop -- as above
      await pause(0);
    }
    if (found.size > 0) views(found);
    const took = performance.now() - began;
    // oxlint-disable-next-line no-await-in-loop -- as above
    await pause(Math.max(VIEWS_MS, SHARE * took), null, { signal }).catch(() => {});
  }
}

const VIEWS_MS = 1000;
/** At most a tenth of the time is spent on this. */
const SHARE = 9;

/** Null if it was removed meanwhile. */
async function viewOrNull(loops: Pick<Loops, 'get'>, ref: LoopRef): Promise<LoopView | null> {
  try {
    return await loops.get(ref);
  } catch (error) {
    if (error instanceof UserError) return null;
    throw error;
  }
}
